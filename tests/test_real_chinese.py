"""Chinese questions to the packaged graphs: what a person who asks them must read, and must not."""

import pytest

from kgmed.graph.store.store import Store
from kgmed.session import Session

pytestmark = pytest.mark.starter


@pytest.fixture(scope="module")
def chinese(hpo: Store, cmekg: Store) -> Session:
    return Session(("hpo", "cmekg"), {"hpo": hpo, "cmekg": cmekg}.__getitem__, {"hpo": "en", "cmekg": "zh"})


SAID = [  # question, what is said, what is not
    ("抗生素能和牛奶一起喝吗", ["牛奶"], ["一起”", "相互作用："]),
    ("米诺环素能和牛奶一起吃吗", ["没有", "牛奶"], ["慎用", "相互作用："]),
    ("二甲双胍能和咖啡一起吃吗", ["没有", "咖啡"], ["相互作用："]),
    ("我有哮喘，高血压吃什么药", ["可引起或加重哮喘", "卡维地洛"], []),
    ("头孢克洛过敏，肺炎用什么药", ["同类其他药的说明书禁用", "青霉素"], []),
    # a medicine is no finding, and no list of diseases answers a question about it
    ("青光眼能用阿托品不", ["不能", "阿托品", "青光眼"], ["相符的疾病"]),
    ("异烟肼 肝损害 周围神经炎 对吗", ["会：", "异烟肼"], ["相符的疾病"]),
    ("既然胰岛素会上瘾，糖尿病人怎么戒掉它", ["没有胰岛素"], ["相符的疾病"]),
    ("青霉素可以治病毒性感冒是吧，那我该吃几天", ["青霉素", "病毒性感冒"], ["相符的疾病"]),
    ("痛风急性发作首选什么药", ["首选", "秋水仙碱"], ["相符的疾病"]),
    # what is told beside the sentence that asks is no subject, where that has one
    ("我有痛风，怀孕了。头痛吃什么药？", ["头痛的治疗"], ["痛风的治疗"]),
    ("我在吃阿司匹林。二甲双胍有什么副作用？", ["二甲双胍的不良反应"], ["阿司匹林的不良反应"]),
    ("感冒吃什么药？头痛吃什么药？", ["感冒的治疗", "头痛的治疗"], []),
    # adjectives that are entries of a graph are no diseases; 病毒性 speaks of no 毒性
    ("细菌性感冒吃什么药", ["感冒的治疗"], ["相符的疾病"]),
    ("病毒性感冒吃什么药", ["治疗"], ["不良反应", "治疗原则"]),
    # an illness with a finding or a course behind its name falls back to the illness
    ("痔疮便血怎么办", ["痔", "治疗"], ["没有"]),
    ("急性细菌性痢疾怎么治", ["细菌性痢疾的治疗"], ["适应症"]),
    # what a thing is, in Chinese, and no fragments of sentences
    ("系统性红斑狼疮是一种什么病", ["系统性红斑狼疮：", "主要表现"], ["原文为英文"]),
    ("水痘会引起哪些并发症", ["并发症"], ["亦可发生", "常有肺"]),
    ("二型糖尿病首选什么药", ["没有说明何者为首选", "2型糖尿病的治疗", "二甲双胍"], []),
    # what may be eaten is told under risks, prevention and treatment; of a food that has no tie that is said
    ("高血压平时饮食要注意啥", ["低盐饮食"], []),
    ("痛风不能吃什么？", ["海鲜"], []),
    ("痛风发作时脚趾头疼得不行能吃海鲜吗", ["不宜：", "海鲜"], []),
    ("甲亢病人可以吃海带吗", ["没有", "海带"], ["可以：", "不宜："]),
    ("糖尿病人能吃西瓜吗", ["没有", "西瓜"], ["西瓜霜"]),
    # a side effect that is the illness's own act is a warning, of the very medicine before others of its class
    ("哮喘病人可以吃普萘洛尔吗", ["慎用", "普萘洛尔", "支气管痉挛"], ["艾司洛尔"]),
    # an allergy to one is one to what its own labels name, also of others of a class; interactions are no matter then
    ("阿莫西林过敏可以吃头孢氨苄吗", ["不能：", "青霉素过敏"], ["没有阿莫西林"]),
    ("对青霉素过敏能用头孢拉定吗", ["青霉素过敏"], ["没有青霉素过敏与"]),
    ("阿莫西林过敏可以吃布洛芬吗", ["没有"], ["相互作用："]),
    ("耳石症是啥病,翻身就天旋地转几十秒", ["耳石症的症状"], ["急症"]),
    ("梅毒怎么传播的,一起吃饭会吗", ["传播途径"], ["相互作用"]),
    ("艾滋病会母婴传播吗", ["传播途径", "母婴传播"], ["未如此记载"]),
    ("乙肝会通过血液传播吗", ["传播途径", "血液"], ["未如此记载"]),
    # more ways of asking; ordinary words are no mistyped names
    ("和乙肝的人一起吃饭会不会被传上", ["传播途径", "未说明"], ["相互作用"]),
    ("怎么预防小儿热性惊厥再犯", ["小儿热性惊厥"], ["小耳畸形"]),
    ("怀孕6周不小心吃了利巴韦林怎么办", ["利巴韦林"], ["细辛"]),
    # a value of the laboratory: what it is called, common diseases before rare; what a number means is not known
    ("尿酸高说明什么", ["高尿酸血症", "痛风"], []),
    ("转氨酶高是什么病引起的", ["肝炎", "肝硬化"], []),
    ("血钾2.8 会怎么样", ["没有血钾的数值的意义"], []),
    ("血压160/100要吃药吗", ["没有血压的数值的意义"], ["治疗："]),
    # a name of another language in which a word of an emergency is an adjective tells none
    ("眼睛红痒流泪是什么病", ["过敏性结膜炎"], ["急症"]),
    # one character typed for another of its sound; of a longer name that no graph has nothing is guessed
    ("湿诊怎么治 身上痒的很", ["湿疹"], ["相符的疾病"]),
    ("辛伐他丁副作用大吗", ["辛伐他汀的不良反应"], []),
    ("二甲双瓜副作用", ["二甲双胍的不良反应"], []),
    ("肺炎首选什么抗生素", ["没有说明何者为首选", "肺炎的治疗"], ["相符的疾病"]),
    ("荨麻诊怎么办", ["荨麻疹的治疗"], []),
    ("请问康维洛韦孕妇可以用吗", ["没有“康维洛韦”"], ["禁忌"]),
    ("艾滋病一起吃饭会传染吗", ["传播途径", "未说明"], ["有："]),
    ("格里森海默氏综合症怎么治", ["没有“格里森海默氏综合症”"], []),
    ("大姨妈肚子疼怎么办", ["痛经的治疗"], []),
    # who sees a complaint is told by most diseases that show it; the class of a medicine by most of its products
    ("咳嗽看什么科", ["未载咳嗽的就诊科室", "呼吸内科"], ["皮肤科"]),
    ("皮疹挂什么号", ["皮肤科"], []),
    ("耳朵疼挂什么科", ["耳鼻"], []),  # told of kinds of it
    ("抑郁症看什么科", [], ["耳鼻喉科"]),
    # why a medicine makes one cough is asked of its side effects
    ("卡托普利为什么会咳嗽", ["是：", "咳嗽"], ["病因"]),
    ("氨氯地平吃了脚肿是怎么回事", ["是：", "水肿"], ["相符的疾病"]),
    # what labels of others of the class forbid comes before what a medicine can cause
    ("我有胃溃疡能吃布洛芬吗", ["慎用或不用：", "同类药物禁用", "溃疡"], []),
    ("18岁以下可以用左氧氟沙星吗", ["18岁以下"], ["没有左氧氟沙星与儿童"]),
    ("华法林能和阿司匹林一起吃吗", ["慎用：", "同类药物"], ["不能据此"]),
    # names that were cut in two or run together
    ("胆囊结石一定要开刀吗", ["是否需要手术图谱未说明", "胆囊结石病的治疗"], ["尿路"]),
    # what the graph does not say is declined in a sentence with what it has
    ("唐氏综合征是哪条染色体异常", ["图谱中没有", "唐氏综合征的染色体"], ["相符的疾病"]),
    ("感冒要注意什么", ["没有感冒的日常注意事项", "图谱有其"], ["感冒见于"]),
    # of a named illness of which nothing is said no other is told in its place; to need is not to be allowed
    ("孩子发烧抽搐（热性惊厥）怎么处理", ["没有热性惊厥的治疗"], ["相符的疾病"]),
    ("备孕要吃叶酸吗", ["叶酸"], ["禁忌或相互作用"]),
    ("布诺芬怎么吃", ["布洛芬的用法用量"], []),
    ("怎样预防骨质疏松", ["骨质疏松"], ["预防骨质疏松的预防"]),
    ("心脏支架后能停阿司匹林吗", ["没有阿司匹林的", "停药"], ["不能据此", "心脏的疾病"]),
    ("小儿肺炎常见的病原体有哪些", ["小儿肺炎的病因"], ["相符的疾病"]),
    # a class of medicines that is asked for, beside what it is for, is no thing of its own
    ("怀孕期间头疼能吃什么止痛药", ["的治疗", "孕妇"], ["饮食"]),
    ("痛经吃布洛芬还是对乙酰氨基酚好", ["未比较孰优孰劣", "布洛芬", "对乙酰氨基酚"], ["痛经的病因"]),
    ("怎么判断是不是带状疱疹", ["症状与体征"], []),
    ("过敏性鼻炎怎么根治", ["过敏性鼻炎的治疗"], []),
    ("小便带血但是不疼", ["血尿"], ["血尿、排尿困难"]),
    # which of a class may be taken is no question of what the medicine that is taken is for; driving is none of taking
    ("吃华法林能吃什么止痛药", ["有相互作用", "华法林"], ["心肌炎"]),
    ("吃了地西泮能开车吗", ["驾驶", "不能据此"], ["禁忌："]),
    ("吃了单硝酸异山梨酯片能开车吗", ["慎用", "影响患者驾驶"], []),
    # a side effect that is what a medicine is given for is no yes, and a number is not whether to take something
    ("胰岛素会引起糖尿病吗", ["自相矛盾"], ["会："]),
    ("尿酸550要不要吃药", ["没有尿酸的数值的意义"], ["治疗："]),
    # an allergy to what stands right before the word, and a child that a word makes a small one
    ("磺胺过敏能吃磺胺嘧啶片吗", ["对磺胺过敏——磺胺嘧啶片"], ["不能据此"]),
    ("我有肾衰竭，能吃二甲双胍吗", ["不适合该患者", "二甲双胍"], []),
    # a name of which the graph has the end alone is said, or counts as not found
    ("根端囊肿怎么治", ["没有“根端囊肿”"], []),
    ("糜烂出血性胃炎怎么治", ["“糜烂出血性胃炎”按“胃炎”回答"], []),
    ("新生儿能用氯霉素吗", ["不适合该患者", "氯霉素"], ["不能据此"]),
    ("婴儿能吃洛哌丁胺吗", ["不适合该患者", "洛哌丁胺"], ["不能据此"]),
    ("孕妇感冒吃什么药", ["孕妇——阿司匹林维C肠溶片"], []),
    # an indication cut out of the name of a bacterium is no yes; for whom a treatment is, is no treatment
    ("阿莫西林能治流感吗", ["不足为据"], ["可以："]),
    ("左氧氟沙星能治痢疾吗", ["可以："], []),
    ("脚气吃什么药", ["足癣的治疗"], ["渗液者", "未破溃者"]),
    # a suppository acts in the whole body
    ("孕妇能用吲哚美辛栓吗", ["不适合该患者", "吲哚美辛栓"], ["能："]),
    ("慢阻肺病人为什么会消瘦", ["消瘦"], ["吸烟"]),
    ("疟疾有疫苗吗", ["有：", "疫苗"], []),
    # headings and the disease itself are no treatments; no reason is no denial
    ("梅毒首选药物", ["梅毒感染的治疗"], ["神经梅毒", "注意事项"]),
    ("脚气怎么除根", ["足癣的治疗"], ["不要乱用药"]),
    ("没原因流鼻血、身上有瘀斑", ["鼻出血、瘀斑"], ["不符"]),
    # a name of which nothing is said in a role is answered as what means the same, or as the complaint it ends in
    ("血压高怎么办", ["高血压的治疗"], ["没有血压高"]),
    ("膝关节痛怎么办", ["“膝关节痛”按“关节痛”回答"], []),
    ("紧张引起的高血压吃什么药", ["高血压的治疗"], []),
    ("地中海贫血怎么治", ["没有"], ["亚铁"]),
    # parts of the body are no findings; a saying takes no piece of the name of an illness
    ("颈部动脉硬化如何治疗", ["动脉硬化的治疗"], ["没有颈部"]),
    ("手足口病疱疹怎么治", ["手足口病的治疗"], []),
    # others of its kind make no medicine unfit for the illness that it is for
    ("感冒流鼻涕怎么办", ["感冒的治疗"], ["不适合该患者"]),
    ("风寒感冒吃什么药", ["风寒感冒颗粒"], ["绿花独活"]),
    ("硝苯地平属于哪一类药", ["硝苯地平属于", "二氢吡啶衍生物"], ["抗氧化剂"]),
    # names that patients use for what has an entry
    ("怎么能去除头屑", ["脂溢性皮炎的治疗"], ["没有"]),
    ("扭脚怎么办", ["扭伤的治疗"], ["没有"]),
    ("气血不好怎么调理", ["气血不足的治疗"], ["没有"]),
    # of which no treatment is known who sees it is; what is told of an illness is not told of what it shows
    ("散光自然恢复的好办法", ["没有散光的治疗", "眼科"], []),
    ("最近检测出缺钙", [], ["克罗恩病"]),
    ("夏天感冒了不能吹空调怎么办", ["感冒的治疗"], []),
]


@pytest.mark.parametrize(("question", "said", "unsaid"), SAID, ids=[row[0] for row in SAID])
def test_a_chinese_question_is_answered_as_it_is_meant(
    chinese: Session, question: str, said: list[str], unsaid: list[str]
) -> None:
    text = chinese.ask(question).answer.text
    assert [word for word in said if word not in text] == []
    assert [word for word in unsaid if word in text] == []


STORIES = [  # a story, names of which one is among the first of the list, how far down
    ("突然一边胳膊腿没劲嘴歪说话不清楚", ("脑血管意外", "脑梗死", "脑梗塞", "脑卒中", "中风"), 1),
    ("老人突然口角歪斜，一侧手脚无力，说话不清", ("脑血管意外", "脑梗死", "脑梗塞", "脑卒中", "中风"), 1),
    ("我爸抽烟四十年了，一到冬天就咳嗽咳痰，现在走几步路就喘，脚也有点肿，可能是什么病", ("慢性阻塞性肺疾病",), 3),
    ("孩子手上脚上嘴里都有疱疹，发烧，是什么病", ("手足口病",), 1),
    ("腿肿，晚上平躺喘不过气", ("心力衰竭",), 1),
    ("胃疼反酸是什么病", ("胃炎", "消化性溃疡", "食管"), 2),
    ("上腹疼后来转到右下腹，还发烧恶心，是什么病", ("阑尾炎",), 4),
    ("拉水样便，低烧，恶心，是什么病", ("胃肠炎", "肠炎"), 5),
]


@pytest.mark.parametrize(("story", "names", "top"), STORIES, ids=[row[0] for row in STORIES])
def test_a_common_illness_in_plain_chinese_is_among_the_first(
    chinese: Session, story: str, names: tuple[str, ...], top: int
) -> None:
    run = chinese.ask(story)
    found = [line for line in run.answer.text.splitlines() if line.startswith("- ")]
    told = [line.removeprefix("- ").partition("：")[0] for line in found[:top]]
    if "急救" in run.answer.text and not found:  # the call for help stands alone; the evidence keeps what was found
        told = [e.about[0].name for e in run.evidence if e.kind == "candidate"][:top]
    assert any(name in line for name in names for line in told)


def test_a_stroke_in_plain_chinese_is_told_to_be_an_emergency_first(chinese: Session) -> None:
    for story in ("突然一边胳膊腿没劲嘴歪说话不清楚", "左边脸歪了，左手没劲，该怎么办"):
        assert "急救" in chinese.ask(story).answer.text.splitlines()[0]
