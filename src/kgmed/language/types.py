"""The table of question types: what each looks like, in English and Chinese, and what of a graph answers it."""

import re
from dataclasses import dataclass
from functools import cached_property

from kgmed.language.text import InTwoLanguages
from kgmed.records import Role

# --- The types. Every row that matches counts, in this order.


@dataclass(frozen=True)
class QuestionType:
    """A row of the table: what a question of the type looks like, and what of a graph answers it.

    Attributes:
        name: What it is called.
        looks: A pattern of its words, English and Chinese.
        role: What answers it; None = a text whose relation is called as in `relations`, or the thing itself.
        also: Roles that answer it where the first has nothing.
        of_what: Whether the subject of the role is asked for: which disease has this?
        of_medicines: Whether it is asked of medicines alone.
        relations: A pattern of the names of relations that answer it, for what no role stands for (a price, a year).
        says: What it asks for, in English and Chinese: "Treatments", "治疗"; of a row without a role as it is denied.
    """

    name: str
    looks: str
    role: Role | None = None
    also: tuple[Role, ...] = ()
    of_what: bool = False
    of_medicines: bool = False
    relations: str = ""
    says: tuple[str, str] = ("", "")

    @cached_property
    def pattern(self) -> InTwoLanguages:
        """`looks`, compiled when a text of the language is read."""
        return InTwoLanguages(self.looks)

    @cached_property
    def named(self) -> re.Pattern[str]:
        """`relations`, compiled; of an empty one a pattern that nothing matches."""
        return re.compile(self.relations or r"(?!)", re.IGNORECASE)


TYPES: tuple[QuestionType, ...] = (
    QuestionType(
        "diagnosis",
        r"what (?:could|can|might|is|may) (?:it|this|that|be wrong|be the (?:problem|cause|diagnosis))\b"
        r"|diagnos(?!tic test)|\bd?dx\b(?! (?:of|for)\b)"
        r"|(?:which|what) (?:(?:genetic|rare|inherited|hereditary|metabolic|underlying|congenital|possible"
        r"|likely) ){0,2}"
        r"(?:disease|disorder|syndrome|condition|illness)"
        r"|what('s| is) wrong|do i have|does (?:he|she|my \w+) have"
        r"|what could be (?:the )?(?:problem|cause|wrong|causing)"
        r"|是什么病|(?<!治)(?<!治疗)(?<!会得)(?<!发展成)(?:什么疾病|什么(?:遗传|罕见|毛)病|什么病(?![因史情程变菌毒原理灶房])|哪种病)|怎么回事|怎么了|(?<!鉴别)(?<![^者人我他她能步虑确]的)诊断(?!需要?|要[做查]|方法|依据|标准|金标准)|咋回事"
        r"|可?见于(?:哪些|什么|何)|(?:哪些|什么|哪种|何种)(?:遗传|罕见|先天性?|感染性?|内科|常见)?(?:疾病|病)[都也]?(?:会|可以|可能|可|能|容易)?(?:出现|有(?!关)|表现|伴)"
        r"|得了什么|考虑(?:是)?(?:什么|啥|何)(?:诊断|疾?病|问题|情况)?\W*$|是(?:什么|啥)(?:问题|情况|原因)\W*$|(?:说明|提示|代表|意味着|反映)(?:了)?什么",
        Role.FINDING,
        of_what=True,
        says=("Diseases that fit the findings", "与所述表现相符的疾病"),
    ),
    QuestionType(
        "class",
        r"(?:what|which) (?:(?:kind|type|sort|class|group|family) of (?:drug|medic\w+|antibiotic|painkiller)s?"
        r"|(?:drug|medicine) (?:class|group))(?: (?:is|are|does|do)\b(?! (?:used|given|there|best|good|for)\b)|\W*$)"
        r"|属于(?:什么|哪|啥)一?[类种]的?(?:药|抗生素)|(?:什么|哪一?)类的?(?:药物?|抗生素)\W*$",
        Role.IS_A,
        says=("Classes", "类别"),
    ),
    QuestionType(
        "treatment",
        r"(?<!doctor )(?<!department )(?<!specialist )(?<!who )\btreat(?!ed or not)"
        r"|\b[tr]x\b|\bmgmt\b|\bmanagement\b"
        r"|\bhow (?:is|are|was|were|would|do|does|should|can|to)(?= .{1,60}\b(?:handled?|dealt with|deal with"
        r"|controll?(?:ed)?|sort(?:ed)? out|soothed?|eased?)\b)"
        r"|\b(?:what|which) (?:tablets?|pills?|creams?|ointments?|sprays?|drops|syrups?|inhalers?|shots?|jabs?)\b"
        r"|\b(?:used|given|indicated|good) for\b|\bindications?\b|\buses? of\b"
        r"|\b(?:first|second|third|last).?line\b|\bantidotes?\b"
        r"|what (?:do|would|should|will|can) (?:\w+ ){1,4}(?:give|use|prescribe)\b"
        r"|\b(?:which|what|best|empiric(?:al)?|any|good|suitable) (?:\w+ )?(?:anti-?(?!bod|gen|dote)\w{6,}|diuretic"
        r"|analgesic|steroid|vaccine|bronchodilator|laxative|painkiller)s?\b"
        r"(?! (?:are|is) (?:on|in)\b)(?! \w+ (?:caus|trigger|worsen))"
        r"|\b(?:dmards?|nsaids?|ssris?|anti-?(?!bod|gen|dote)\w{6,}|statins?|biologics|triptans?|laxatives?"
        r"|antihistamines?|steroids?|immunosuppressants?|diuretics?|opioids?)(?: \w+)? (?:for|in)\b"
        r"|\b(?:tablets?|pills?|creams?|ointments?|sprays?|inhalers?|drops|injections?|shots?|syrups?) for\b"
        r"|\bwhat is(?= .{1,60} for\W*$)"
        r"|\bwhat (?:can|should|could|do|would) (?:i|we|you|he|she|they|one|people) (?:do|use|try|put|rub|apply)\b"
        r"(?= (?:about|for|on|to (?:help|ease|stop|relieve|soothe|treat|calm))\b)"
        r"|\b(?:anything|something)(?: (?:i|we|he|she|you) can (?:take|use|give|do|try|put on|rub on|apply))? for\b"
        r"|\bwhat (?:stops|relieves|eases|soothes|gets rid of|clears|fixes|works for)\b"
        r"|\b(?:what|which) (?:\w+ ){1,3}(?:is|are) (?:usually |normally )?used\b"
        r"|\bwhat to do (?:if|when|for|about|with)\b|\bgetting rid of\b|\brelief\b|\btips (?:for|on)\b"
        r"|\b(?:what|which) (?:\w+ )?(?:drugs?|medic\w+|pills?|tablets?|meds) (?:lower|reduce|bring down"
        r"|control|stop)s?\b"
        r"|\bhow (?:do|can|to|should) (?:(?:i|you|we|one) )?(?:stop|ease|relieve|soothe|calm|fix|clear|deal with)\b"
        r"|\b(?:need|have|require|avoid)s? (?:\w+ )?(?:surgery|(?:an )?operation)\b"
        r"|medic(?:ine|ation)|(?<!do )(?<!does )(?<!will )(?<!can )(?<!are )\bantibiotics?\b|\bpainkillers?\b"
        r"|\bmeds\b|\bdrugs?\b|\bcure|\btherap|remed"
        r"|what (?:can|should|could) (?:i|we|he|she|they|(?:(?:an?|my|the|our) )?(?:\w+ )?\w+) (?:take|give|be given)\b"
        r"|what to (?:take|use|give)\b"
        r"|prescri(?!ption only)|\bwhat (?:creams? )?helps?\b|\bmanage[dm]?\b|how (?:do|can|to) (?:(?:i|you|u|we"
        r"|one|people) )?get rid of"
        r"|(?:什么|啥|哪些|哪种)[^，。？?]{0,4}药(?!店|会|能引|引起|导致|不能)|啥药|哪些药|(?:有|用)(?:哪些|什么|啥).{0,6}药|药有(?:哪些|什么|啥)|用药|吃药|(?:(?<!类)"
        r"|(?<=哪类))药物|(?:用|吃|打|首选|选)(?:什么|啥|哪些|哪种)(?:抗生素|消炎药|针|治疗)"
        r"|(?:抹|涂|擦|敷)(?:点|些)?(?:什么|啥)|[用吃](?:点|些)(?:什么|啥)(?:好|管用|有效)|用(?:点|些)?(?:什么|啥)(?:好|管用|有效|呢|啊)?(?=\W*$)"
        r"|(?<!不)(?<!不接受)(?<!不进行)(?<!没有)治疗|怎么治|咋治|如何治|怎么办|咋办|疗法|怎样治|怎么缓解"
        r"|如何缓解|怎么降|怎样降|如何降|怎么整|咋整|(?:怎么|怎样|如何)(?:处理|调理|应对|护理|根治|除根|断根|去根|抢救|急救|治愈|消除|止[痛痒咳血吐泻])|(?:一线|特效|最好的?)的?(?:用?药|治疗)|首选(?!的?(?:检查|化验|科|医院))"
        r"|(?:急诊|紧急|急救|急性期|院前|现场|术前|术后|[和与及、])(?:的)?(?:处理|处置)|(?:急救|抢救|解救)(?:措施|方法|处理|药)?(?=\W*$)|(?:处理|处置)(?:原则|措施|方法|流程|方案)|(?:的处理|的处置|处置)(?=\W*$)"
        r"|用(?:什么|啥|哪些|哪种)(?:药)?(?:来)?(?:替代|代替)|(?:替代|代替)(?:药|方案|治疗)"
        r"|(?:手术|开刀|动刀|住院)(?:吗|么|不|治)"
        r"|[有没]药(?:可以?|能)?[治医]|有药吗|能治(?:吗|不|么)|治(?:什么|啥|哪)|主治|管什么(?!用)|适应[症证]|[有]什么(?:用|功效|作用)(?!药)|(?:干|做)(?:什么|啥|嘛)用"
        r"|功效|用(?:于|来)(?:治)?(?:什么|啥|哪)"
        r"|\bwhy (?:did|does|would|has|is|was|am|are|do)\b"
        r"(?=.{0,40}\b(?:give|gave|given|prescribed?|used|take|taking|put (?:me |us )?on)\b)"
        r"|为(?:什么|啥|何)(?:给我|要|让我)?(?:开|吃|用)",
        Role.TREATS,
        says=("Treatments", "治疗"),
    ),
    QuestionType(
        "test",
        r"\btest(?:s|ed|ing)?\b|\bantibod(?:y|ies) (?:are|is) (?:looked|checked|tested)"
        r"|\bhow do (?:they|doctors|you) (?:find|work) (?:it )?out\b|靠什么(?:查|诊断|确诊)|哪一?项?(?:化验|检查)"
        r"|\b(?:would|will|do|does|should) .{1,40}\border\b|\bix\b|\bdx (?:of|for)\b|examin"
        r"|\bscan|\bx-?ray"
        r"|investigat"
        r"|\bhow (?:is|are|can)(?= .{1,60}\b(?:detected|picked up|found out|spotted)\b)"
        r"|how (?=.{0,200}diagnosed?\b)|how (?=.{0,200}\bconfirm)|\bcheck(?:ed)? (?:(?:me|him|her|you|them|us"
        r"|people) )?for\b"
        r"|\blabs\b|\bblood ?work\b|\bwork-?up\b|\bimaging\b"
        r"|检查|化验|检验|怎么查|筛查|查(?:些|点|一?下)?(?:什么|啥|哪些)|抽血|拍(?:什么|啥|哪些|个)?片|如何确诊|怎么确诊"
        r"|(?:怎么|如何|怎样)诊断|(?<=[^者人我他她能步虑确]的)诊断|诊断(?:需要?|要[做查]|方法|标准|依据|金标准)|首选(?:的)?(?:检查|化验)",
        Role.TESTS,
        says=("Tests", "检查"),
    ),
    QuestionType(
        "symptom",
        r"(?<!these )(?<!following )\bfindings(?: (?:of|in|for)\b|\W*$)|\b(?:what|which) (?:\w+ )?findings\b"
        r"|s[iy]m(?:p)?tom|\bsx\b|\bsigns?\b|how (?:do|can|would|will) (?:i|you|we) (?:know|tell) (?:if|whether"
        r"|that|it)\b|\bhow (?:do|can|would|will|could) (?:i|you|we|one) (?:notice|recogni[sz]e|spot)\b"
        r"|\bpresentation\b|\bwhat (?:do|does)(?= .{1,60}\bdo to (?:you|me|one|your|my|the|people)\b)"
        r"|\bwhat (?:sorts? of |kinds? of )?(?:trouble|problems?|bother) (?:do|does|will|can)\b"
        r"|\bfeatures?\b|phenotyp|manifest|present with|\bwhat (?:do|does)(?= .{1,60}(?:feel|look) like)"
        r"|\b(?:feels?|looks?) like\W*$|how (?:do|does)(?= .{1,60} (?:present|show|start|begin)\b)"
        r"|(?:怎么|如何|怎样)(?:判断|知道|看出|辨认|确认)(?:自己)?(?:是不是|是否|得没得|有没有|得了)"
        r"|症状|表现|体征|表型|(?:临床|典型|主要)(?:特征|特点)|征兆|苗头|不对劲|(?:前|先|预)兆|早期信号"
        r"|(?:什么|啥|哪些)(?:样的)?(?:感觉|反应|样子)|(?:什么|啥)样的?\W*$",
        Role.FINDING,
        says=("Findings", "症状与体征"),
    ),
    QuestionType(  # which drugs cause constipation: the medicines of which it is a side effect
        "culprit",
        r"(?:\b(?:which|what|any|some|common|list(?: of)?|name(?: of)?) (?:\w+ ){0,2}|^\W*)"
        r"(?:drugs?|medic(?:ine|ation)s?|meds|pills?|tablets?|antibiotics?|painkillers?|antidepressants?|antipsychotics?|antihypertensives?"
        r"|diuretics?|statins?)\b"
        r"(?: that| which)?(?: (?:can|could|may|might|will|would|do|does|commonly|often|usually|sometimes"
        r"|are known to))*"
        r" (?:cau?s(?:e|es|ed|ing)|contribut(?:e|es|ing) to|mak(?:e|es|ing) .{1,30} worse"
        r"|aggravat(?:e|es|ing)|trigger(?:s|ing)?|induc(?:e|es|ing)|produc(?:e|es|ing)|bring on|lead(?:s|ing)? to"
        r"|result(?:s|ing)? in|worsens?|raises?|increases?|(?:giv|mak)(?:e|es|ing) (?:you|me|people|one|someone|it))\b"
        r"|\b(?:drug|medic(?:ine|ation)) causes of\b|(?:caused|induced|triggered) by (?:which|what) (?:drug|medic)"
        r"|(?:哪些|什么|哪种|哪类|啥)(?:[一-鿿]{0,4}药(?:物)?|抗生素|激素|利尿剂|他汀)(?:会|能|可以|可能|可|容易)*(?:引起|导致|造成|诱发|引发|(?=升高|伤))"
        r"|(?:药(?:物)?|抗生素|激素|利尿剂|他汀)(?:里面?|中|当中)?(?:有)?(?:哪些|哪种|哪个|哪类)(?:药)?(?:会|能|可以|可能|可|容易)+(?:引起|导致|造成|诱发|引发|让人|使人|(?=升高|伤))",
        Role.ADVERSE,
        of_what=True,
        says=("Medicines with that side effect", "相关药物记载"),
    ),
    QuestionType(
        "side effect",
        r"(?:\blong.?term )?side.?[ae]f+ect|\b(?:unwanted|undesirable|untoward|unpleasant|ill"
        r"|bad) (?:side )?effects?\b|\bmess(?:es)? (?:with|up)\b|adverse|\bharm"
        r"|\b(?:look|watch) out for\b|\bwatch for\b|\bhow (?:will|would|do|does|might) .{1,20} feel\b"
        r"(?= .{0,30}\b(?:on|taking|take|using|after|with)\b)"
        r"|长期(?:吃|用|服用?|使用)(?=.{1,12}会(?:怎|有什么|出现什么))"
        r"|副作用|不良反应|副反应|毒副|危害|[坏害]处|(?<!病)毒性",
        Role.ADVERSE,
        says=("Side effects", "不良反应"),
    ),
    QuestionType(
        "contraindication",
        r"contraindicat|(?:should|must|can)(?: ?n[o']t| not) (?:take|use|be (?:taken|used|given|prescribed))"
        r"|who should(?: not|n't)"
        r"|\bwho (?:can|could|must|may) ?(?:not|n?['’]t)\b|when (?:should|must|can)(?= .{1,60}\bnot be\b)"
        r"|\bwhen not to\b"
        r"|safe (?:to (?:take|use)|in|for|during|while|when)\b|\bok to (?:take|use)|avoid"
        r"|\bprecautions?\b|\bwarnings?\b|\bcareful (?:with|about|of)\b|注意事项|[要该]注意(?:些|点)?(?:什么|啥|哪些)"
        r"|禁忌[症证]?|禁用|(?:应该?|需要?|要)?避免(?:使用|应用|服用|用|吃)?(?:哪些|什么|哪类)(?=.{0,3}药)"
        r"|(?:哪些|什么|哪类|啥)人不(?:能|宜|可以|应)|不能吃(?!(?:什么|哪些|啥)(?!药))|不(?:要|宜"
        r"|可以?)(?:吃|用|服用?)(?:什么|哪些|啥)药|不能用|慎用|(?:可以|能)(?:吃|用|服用?)(?=.{0,12}吗)"
        r"|能不能(?:吃|用|服)|可不可以(?:吃|用|服)",
        Role.CONTRAINDICATED,
        also=(Role.PRECAUTION,),
        says=("Contraindications", "禁忌"),
    ),
    QuestionType(
        "interaction",
        r"interact|\btogether\b|combin(?:e|ation) with"
        r"|(?:\b(?:not|never|avoid|cannot|cant|dont)|n['’]t)\b.{0,40}\b(?:tak|mix|us|combin|giv|hav|eat|drink)\w{0,4}"
        r" (?:\w+ )?(?:with|while (?:on|taking)|when (?:on|taking))\b(?! (?:food|milk|meals?|water)\b)"
        r"|(?:药物)?相互作用|(?:一起|同时|一块)(?:儿)?(?:吃(?!饭)|服|用)|同服|同用|合用|配伍|不能(?:和|跟|与|同)(?:什么|哪些|啥)",
        Role.INTERACTS,
        says=("Interactions", "相互作用"),
    ),
    QuestionType(
        "dose",
        r"\bdos(?:e|age|ing)|how (?:much|often)|\bhow\b.{1,30}\b(?:inject(?!ions?\b)|administer)|"
        r"\bhow (?:do|can|should|to) (?:(?:i|you|u|we|one) )?(?:safely )?(?:give(?! up| birth| blood)|apply|inhale)\b|"
        r"\bhow (?:is|are|do|does|should|to)(?= .{1,60}\b(?:taken|take|dosed|administered)\b(?! (?:off|out|care)))|"
        r"how many (?:a|per|each) day|\bwhen (?:do|should|to|must) (?:i |we |you )?take\b|"
        r"how many (?:m?g|mcg|ml|milligrams?|grams?|tablets?|pills?|capsules?|drops|puffs|times)\b"
        r"|用法|用量|剂量|怎么吃|怎么用|怎么服|吃几|几[片粒袋颗丸支]|(?:怎么|咋)个?(?:吃|服|用)法?|(?:吃|用|服|喝|打|喂)(?:多少|好多|几)|多少(?:毫克|毫升|片"
        r"|粒|mg|ml)|几(?:毫克|毫升|mg|ml)"
        r"|(?:每|一)[天日次回](?:吃|用|服|喝|冲|泡|擦|抹|喂)?(?:几|多少|好多)(?:次|回)?"
        r"|(?:饭前|饭后|空腹|早上|晚上|睡前)(?:吃|服用?|用)?还是|什么时候(?:吃|服)",
        Role.DOSAGE,
        says=("Dosage or directions", "用法用量"),
    ),
    QuestionType(
        "cause",
        r"\b(?:which|what) (?:germ|bug|bacteri\w+|virus|organism|microbe|parasite|fungus)\b|(?:什么|哪种|啥)(?:细菌"
        r"|病毒|真菌|菌|虫)"
        r"|\bcauses? of|\bcaused by\W*$|what (?:\w+ ){0,2}(?:can |may |could )?causes?\b|\bpathogens?\b"
        r"|\bwhat(?:['’]s| is) causing\b"
        r"|\bcauses(?= (?:other than|besides|apart from|except)\b|\W*$)"
        r"|which (?:diseases?|conditions?|illness\w*|things) (?:can |may )?cause"
        r"|why (?:do|does|is|are|did|am|have|has|was|were|might|would)\b"
        r"|^\W*why\b(?= \w+\W*$)|etiolog|aetiolog|\bbrings? (?:on|about)\b|\breasons? for\b|\bhow come\b"
        r"|how (?:do|does|did|can|could|would)(?= (?:\w+ ){1,2}(?:get|catch|contract|develop|pick up"
        r"|come down with)\b(?! rid| passed))"
        r"|what(?:'s| is) behind\b|what (?:leads to|triggers?|makes (?:you|me|people) get)\b"
        r"|病因|(?:发病|致病|发生|形成)机[制理]|(?<![没无])原因|病原(?:体|菌|微生物)?|致病菌|为什么|为啥|为何|引起的|导致的|(?:怎么|咋|如何|怎样)(?:会)?(?:得|引起|患|来|造成|感染|染)(?:的|了|上)"
        r"|(?:怎么|怎样|咋|如何)(?:形成|产生|发生)|(?:什么|哪些|啥)(?:样的)?(?:病|疾病|情况|因素|东西)?(?:会|能|可以|可能)?(?:引起|导致|造成|诱发)"
        r"|\bsets? off\b|\bwhat (?:can |may |might |could )?(?:triggers?|worsens?)\b|\bwhat makes(?= .{1,40} worse\b)",
        Role.CAUSE,
        also=(Role.RISK,),
        says=("Causes", "病因"),
    ),
    QuestionType(
        "risk",
        r"(?:(?:rais|increas|reduc)(?:e|es|ed|ing) (?:the |my |your )?)?\b(?:risks?|chances? of)\b"
        r"|predispos|likely to (?:get|develop)|who gets|高危|危险因素|易感|易患|容易(?:得|患)|诱因|诱发因素",
        Role.RISK,
        also=(Role.CAUSE,),
        says=("Risk factors", "危险因素"),
    ),
    QuestionType(
        "complication",
        r"complicat|sequela|lead to|what (?:will |would |might |may )?happens?\b"
        r"|\bnot (?:be |get |being )?treated\b|\b(?:left )?untreated\b|what (?:can|could) (?:happen|go wrong)"
        r"|\blong.?term (?:effects?|problems?|damage|consequences?|outcomes?)"
        r"|并发症|后遗症|后果|危害|会引起什么|不治(?:疗)?会|(?:会|能)(?:得|发展成|变成|导致|引发)(?:些)?(?:什么|啥"
        r"|哪些)(?:病|问题)?|拖(?:久|着|下去).{0,6}(?:会|怎)",
        Role.COMPLICATION,
        says=("Complications", "并发症"),
    ),
    QuestionType(
        "prevention",
        r"prevent|prophyla|vaccin|\bavoid (?:getting|catching|having|another)\b|\b(?:stop|keep)(?: (?:myself|me|us|him"
        r"|her|them|it))? (?:from )?(?:getting|catching|coming back|happening)\b"
        r"|\b(?:stop|keep)(?:ping)?(?= .{1,60}\b(?:coming back|returning|recurring|happening again)\b)"
        r"|\bprotect (?:myself|me|us|yourself|against)\b"
        r"|\blower (?:the|my|your) (?:risk|chances?)\b|预防|避免得|防止|怎么防|如何防",
        Role.PREVENTION,
        says=("Prevention", "预防"),
    ),
    QuestionType(
        "gene",
        r"\bgenes?\b|mutation|\b(?:faults?|defects?|errors?|variants?) in\b|\bgenetic (?:cause|basis|defect)s?\b"
        r"|\bgenetics\b|基因|突变",
        Role.GENE,
        says=("Genes", "基因"),
    ),
    QuestionType(
        "inheritance",
        r"inherit|heredit|\brecessive\b|\bdominant\b|autosomal|\b[xy][- ]?linked|\bruns? in (?:the |my |our )?famil"
        r"|\bpass(?:es|ed)? (?:it )?(?:on|down|from (?:mother|father|mum|mom|dad|parents?)|to (?:(?:my|our|the|your) )?"
        r"(?:sons?|daughters?|kids|child(?:ren)?|babies|baby))\b|(?<!which )(?<!what )\bgenetic (?:disease|disorder"
        r"|condition)\b|\b(?:is"
        r"|are)(?= .{1,60} genetic\W*$)"
        r"|\b(?:kids?|child(?:ren)?|baby|sons?|daughters?|brothers?|sisters?)(?: also)? (?:get|have"
        r"|inherit) it(?: too)?\b|(?<!什么)(?<!哪[种些])(?<!啥)遗传(?!性(?![疾病的吗么？?]|$))|显性|隐性"
        r"|传下来|传给(?:下一代|后代|子女|孩子|宝宝|儿子|女儿)|生(?:儿子|女儿|孩子|宝宝|男孩|女孩).{0,4}(?:会不会|会|有没有).{0,4}(?:有事|也?得)",
        Role.INHERITANCE,
        says=("Inheritance", "遗传方式"),
    ),
    QuestionType("onset", r"\bonset\b|what age|发病年龄|几岁", Role.ONSET, says=("Onset", "起病")),
    QuestionType(
        "location",
        r"\bwhere in the body|\b(?:which|what) part of"
        r"|affected (?:organ|part)|发病部位|哪个部位|什么部位",
        Role.LOCATION,
        says=("Where in the body", "部位"),
    ),
    QuestionType(
        "department",
        r"(?:which|what) (?:(?:kind|type|sort) of )?(?:\w+ )?(?:doctor|department|dept|specialist|clinic|ward|unit)\b"
        r"|\bwho (?:sees|examines|looks at)\b|\bdept\b"
        r"|\bwho (?:do|should|can|must) (?:i|we|you|he|she) (?:see|go to|consult|ask|visit)\b|\bwho treats?\b"
        r"|\bwhere (?:do|should|can|must) (?:i|we|you|he|she|they) go\b"
        r"|\bwho (?:handles?|looks after|deals with|manages|(?:should|can|could) (?:look at|check|examine"
        r"|treat))\b|科室|挂什么号|挂啥|挂哪|什么科|啥科|哪个科|哪科"
        r"|(?:看|找)(?:什么|啥|哪个|哪种|哪科)(?:医生|大夫)",
        Role.CARE,
        says=("Who treats it", "就诊科室"),
    ),
    QuestionType(
        "food",
        r"\b(?:eat|foods?|diet)\b|饮食|(?<!不能)(?<!不宜)(?<!不要)(?<!忌)吃什么(?!.{0,4}药)|宜吃|食物",
        Role.FOOD,
        says=("Food", "饮食"),
    ),
    QuestionType(
        "to avoid",
        r"\bavoid|not eat|忌口|忌吃|不宜吃|少吃|不(?:能|要|宜)吃(?:什么|哪些)(?!药)"
        r"|(?:哪些|什么|啥)(?:东西|食物|水果|菜|肉)[^，。？]{0,4}不(?:能|要|宜|可以)(?:吃|碰)",
        Role.AVOID,
        says=("Food to avoid", "忌口"),
    ),
    QuestionType(
        "differential",
        r"different(?:ial| from)|\bdifferences?\b|\bdiffers?\b|\b(?:is|['’]s) different\b|distinguish|\bvs\b"
        r"|\bversus\b|\bcompar"
        r"|\btells? .{1,80}\b(?:apart|from)\b|\bhow (?:(?:can|do|would) (?:i|you|we)|to) (?:tell|know)\b(?=.* or )"
        r"|\bor\b(?=.{1,60}\bhow (?:(?:can|do|would) (?:i|you|we)|to) (?:tell|know)\b)"
        r"|\b(?:stronger|weaker|safer|faster|milder|more effective) than\b"
        r"|\bwhich\b.{0,40}\bbetter\b|\bwhat(?:'s| is) better\b|\bbetter than\b"
        r"|(?:哪个|哪种|哪一种|谁)更?(?:好|强|管用|有效|安全)"
        r"|鉴别|区别|区分|分辨|辨别|怎么分|不同|不一样|差别|差异|相比|还是(?=.{1,14}(?:更?好|合适|管用|有效|安全))",
        Role.DIFFERENTIAL,
        says=("To tell apart from", "鉴别"),
    ),
)
# What no role stands for. A graph that has a relation of such a name answers; any other says that it does not hold it.
# These come before the roles: "how much is metformin a month" asks for no dose.
TEXTS: tuple[QuestionType, ...] = (
    QuestionType(
        "pathology",
        r"病理(?:改变|变化|特点|特征|表现|生理)|\bpatholog(?:y|ical (?:changes|features|findings))\b"
        r"|\bhistolog(?:y|ical)\b|\bpathophysiolog",
        relations=r"病理|patholog|histolog",
        says=("pathology", "病理资料"),
    ),
    QuestionType(
        "service",
        r"[帮替给](?:我|俺|我们)(?:写|翻译|订|画|做一?[份个张]|开一?[份张])|(?:请|写|开|病)假条|天气|气温|股[票市]|彩票|讲个?笑话|几点了"
        r"|\bweather\b|\bsick note\b|\bwrite (?:me |us )?an? (?:\w+ )?(?:letter|note|poem|essay|e?mail|story)\b"
        r"|\b(?:book|make) (?:me )?an? appointment\b|\btell me a joke\b|\bstock (?:price|market)s?\b",
        says=("service", "服务"),
    ),
    QuestionType(
        "contagion",
        r"contagious|\bcatching\b|\bcaught (?:from|off|by)\b|infectious\b(?! disease)|transmi(?:t|ssi)|\bspreads?\b"
        r"|catch it|\bcatch(?:ing)?\b(?= .{1,40}\b(?:from|off)\b)|how (?:do|does|can) .{0,30}\b(?:catch|pick up"
        r"|contract)\b|传染|传播|会不会(?:被)?传|传上|[会能]传给(?!下一代|后代|子女|孩子|宝宝|儿子|女儿)"
        r"|[咋怎](?:么|样|个)?传(?!统|下来|下去)",
        relations=r"传染|传播|contagi|transmi",
        says=("way of infection", "传染性"),
    ),
    QuestionType(
        "price",
        r"\bprices?\b|\bcosts?\b|expensive|how much (?:is|are|do|does|for)\b(?!.*\b(?:take|give|dose|needed|enough"
        r"|required|recommended|safe|\d+ ?m[lg])\b)"
        r"|多少(?:钱|块|元|万)|价格|价钱|费用|收费|贵不贵|贵吗",
        relations=r"price|cost|价格|费用",
        says=("price", "价格"),
    ),
    QuestionType(
        "insurance",
        r"insurance|reimburs|医保|报销",
        relations=r"insur|reimburs|医保",
        says=("insurance cover", "医保信息"),
    ),
    QuestionType(
        "prescription",
        r"over.the.counter|\bover counter\b|\botc\b|prescription.only|need a prescription"
        r"|\b(?:schedule|tier)\b.{0,20}\bdrug\b|\bdrug (?:schedule|tier)\b|\bcontrolled (?:substance|drug)\b"
        r"|处方药|非处方",
        relations=r"处方|OTC|prescription",
        says=("prescription status", "处方信息"),
    ),
    QuestionType(
        "overdose",
        r"overdos|too (?:much|many) (?:of|pills|tablets)|过量|吃多了|服多了",
        relations=r"过量|overdos",
        says=("advice on an overdose", "过量的资料"),
    ),
    QuestionType(
        "storage",
        r"\bstor(?:ed?|age|ing)\b|\bfridge\b|shelf life|expir|贮藏|储存|保存|存放|保质期|有效期",
        relations=r"贮藏|储存|有效期|storage|shelf",
        says=("storage", "贮藏方法"),
    ),
    QuestionType(
        "survival",
        r"surviv|life expectanc|mortality|death rate|how long (?:do|does|will|can|would|have) .{0,60}\b(?:liv|left)"
        r"|(?:生存|存活|死亡|治愈|复发)率|能?活多|活几年|寿命",
        relations=r"surviv|mortality|(?:生存|存活|死亡|治愈|复发)率|生存期",
        says=("survival", "生存率或生存期"),
    ),
    QuestionType(
        "prognosis",
        r"prognos|\boutlook\b|\bhow (?:serious|bad|dangerous)\b|\b(?:is|are) .{1,60} serious\W*$"
        r"|\b(?:come|comes) back\b|\bis .{1,60}\bcoming back\b"
        r"|\b(?:recur|relapse)s?\b|(?<![高低])严重(?:吗|不|么)|要紧(?:吗|不)|会死|致命|会复发|能痊愈"
        r"|\b(?:fatal|deadly|curable|incurable|life.threatening)\b|\bdie (?:from|of)\b|预后"
        r"|能治好|治得好|治愈吗|(?:能|会)不(?:能|会)(?:彻底|完全)?(?:好|治愈|根治|断根|要命|没命|死)|能(?:彻底|完全)?(?:根治|断根|除根)"
        r"|要命|没命|有生命危险|[会能](?:彻底|完全)?好(?:起来|吗)|治得了",
        relations=r"预后|prognos|(?:生存|存活|死亡|治愈|复发)率",
        says=("prognosis", "预后"),
    ),
    QuestionType(
        "frequency",
        r"how many (?:people|patients|cases|deaths|children|adults|men|women)|how many \w+ (?:have|gets?|suffer"
        r"|die[ds]?|are (?:born|diagnosed|affected))\b"
        r"|\bpercent(?:age)?\b|what (?:proportion|fraction|share)\b|how (?:common|rare|frequent) (?:is|are)"
        r"|\bprevalence|\bincidence|epidemiolog|发病率|患病率"
        r"|(?:疫情|通报|新增).{0,8}[几多]少?例|[几多]少?例\W*$"
        r"|多少(?:个|名|位|万)?[^，。？?吃用服]{0,8}(?:人(?!民)|患者|病例)|几率|概率|多大比例",
        relations=r"prevalen|inciden|发病率|患病率",
        says=("frequency in the population", "发病率"),
    ),
    QuestionType(
        "duration",
        r"how (?:long|soon|fast|quickly)\b(?! ago\b)|\bhow much time\b"
        r"|\blength of .{1,30}(?:treatment|therapy|course)\b"
        r"|多久|多长时间|几天(?:能|会|可以)?好|要几天|什么时候能好",
        relations=r"病程|住院时间|duration|疗程",
        says=("duration", "时间"),
    ),
    QuestionType(
        "chromosome",
        r"\bchromosomes?\b|\bkaryotype|(?:哪一?[条号对]|几号|第几[号对]|多少[条对])染色体|染色体核型",
        relations=r"染色体|chromosom|karyotyp",
        says=("chromosome", "染色体资料"),
    ),
    QuestionType(
        "history",
        r"(?:what|which|in what) (?:(?:is|was|were|are) )?(?:the )?(?:(?:first|very|exact|last) )*"
        r"(?:year|decade|century|date)\b"
        r"|who (?:first |was the first |originally )?"
        r"(?:discover|invent|describ|develop|name|isolat|synthesi[sz])"
        r"|when (?:was|were|did) .{0,80}(?:discover|invent|describ|approv|introduc|develop|first|us(?:e|ed)\b)"
        r"|named after"
        r"|哪一?年|什么年代|谁(?:最早|首先|第一个)?(?:发现|发明|提出|命名|描述)|(?:何时|什么时候)(?:被)?(?:发现"
        r"|发明|上市|批准)",
        relations=r"discover|history|发现|历史|上市",
        says=("history", "历史资料"),
    ),
    QuestionType(
        "provider",
        r"(?:which|what|best|good|nearest|top) (?:hospital(?! (?:department|dept|clinic|ward|unit))|surgeon"
        r"|pharmacy)|专家号|放号|约号|预约|坐诊|opening hours|(?:best|good|nearest|top) clinic"
        r"|best (?:doctor|specialist)\b"
        r"|near me|哪(?:家|个|所)医院|什么医院|医院(?:比较|最)?好|推荐.{0,8}(?:医院|医生|专家)"
        r"|哪(?:里|儿)(?:能|可以)?买|哪[个位名]?(?:医生|大夫|专家|教授|主任)[^，。？?]{0,12}(?:最?好|厉害|权威|出名)",
        relations=r"hospital|医院",
        says=("hospitals or doctors to recommend", "医院或医生的推荐"),
    ),
    QuestionType(
        "instructions",
        r"how (?:do|can|should|to) (?:(?:i|you|we|one) )?(?:bandage|wrap|splint|tape|insert|perform|remove|massage)\b",
        relations=r"procedure|instruction|操作",
        says=("instructions", "操作方法"),
    ),
    QuestionType(
        "animals",
        r"\b(?:can|do|does|will|could|may|should) (?:(?:the|an?|my|your|our) )?(?:dogs?|cats?|pupp(?:y|ies)"
        r"|kittens?|rabbits?|horses?|hamsters?|parrots?|pets?|animals) (?:get|have|catch|eat|take|drink|develop)\b"
        r"|\b(?:my|our|the|an?|his|her|your) (?:dogs?|cats?|pupp(?:y|ies)|kittens?|rabbits?|horses?|hamsters?"
        r"|parrots?|pets?)"
        r"(?:['’]s)? (?:has|have|had|be|get|gets|got|take|takes|eat|eats|ate|needs?|keeps)\b"
        r"|\b(?:safe|ok|okay|dangerous|poisonous|toxic|bad) (?:for|to) (?:my |our |the )?(?:dogs?|cats?|pupp(?:y"
        r"|ies)|kittens?|horses?|pets?)\b"
        r"|\bgiv(?:e|ing) (?:it to )?(?:my|our|the|a) (?:dogs?|cats?|pupp(?:y|ies)|kittens?|rabbits?|horses?|pets?)\b",
        relations=r"veterinar|兽医",
        says=("advice for animals", "动物用药的资料"),
    ),
    QuestionType(
        "pharmacokinetics",
        r"half.?li(?:fe|ves)|bioavailab|pharmacokinetic|clearance\b|metaboli[sz]ed|excreted"
        r"|(?:how does .{0,60}|mechanism of )(?:work|action)"
        r"|半衰期|生物利用度|代谢途径|作用机[制理]|药代动力|药理|起效",
        relations=r"半衰期|药代|药理|机[制理]|half|kinetic|mechanism",
        says=("pharmacology", "药理资料"),
    ),
    QuestionType(
        "value",
        r"\b(?!type|stage|grade|class|factor|vitamin|chapter)[a-z]\w{1,12} "
        r"(?:(?:is|of|was) )?\d[\d.]{0,9}\b.{0,20}(?:\bmean\b|normal)"
        r"|(?:(?<![\d.,])\d[\d.,]{0,20}\s?(?:%|mg/dl|mmol|g/l|mg/l|u/l|iu|ng|pg|umol|μmol)"
        r"|\bis \d[\d.]{0,20}\b|\bof \d[\d.]{0,20}\b)"
        r".{0,80}(?:mean|normal|high|low|too|should i|what (?:to|do|should)|dangerous|worr)"
        r"|(?:is|are) .{0,60}\d[\d.]{0,20} ?\S{0,8} (?:normal|too|high|low|dangerous)"
        r"|\b(?:came back|results?|reading|level)\b.{0,20} \d[\d.]{0,20}"
        r"|^\W*\w[\w ]{0,20} \d[\d.]{0,20}\W{1,4}(?:is (?:that|it|this) )?(?:bad|ok|okay|good|normal|high|low"
        r"|dangerous)\W*$"
        r"|^\W*[a-z]\w+ \d[\d.,/]{0,20} (?:should|do) i (?:need to )?(?:be )?worr"
        r"|(?:normal|reference) (?:range|value|level)|cut.?off"
        r"|正常(?:值|范围)|参考(?:值|范围)"
        r"|[A-Za-z][A-Za-z0-9-]{1,8}\s?(?:指标|值|水平)?(?:偏|过|太|有点|升|增)?[高低](?:了)?(?:说明|提示|意味"
        r"|代表|是什么意思|严重吗)"
        r"|(?<![\d.])(?!(?:3[5-9]|4[0-2])(?:\.\d)?\s?(?:度|℃|°C).{0,8}怎么办)\d[\d.]{0,20}\s?\S{0,8}(?:说明什么"
        r"|正常吗|高吗|低吗|严重吗|算高|算低|是什么意思|怎么办|要紧)"
        r"|(?:血[钾钠钙磷镁糖脂压氧]|尿酸|肌酐|转氨酶|血红蛋白|血小板|白细胞|胆红素|胆固醇|甘油三酯|尿素氮|血沉)"
        r"(?:值|水平)?(?:是|为|到了?|才|只有)?\s?\d+(?:\.\d+)?(?!.*(?:药|治|怎么办|饮食|吃|什么病|哪些病))"
        r"|(?:血[压糖脂]|尿酸|胆固醇)\D{0,6}\d[\d./]{0,8}.{0,8}(?:(?:要不|需不需)?要|需要?|用不用|该不该)(?:吃|服|用)药",
        relations=r"参考值|正常值|reference|normal",
        says=("meaning of values", "数值的意义"),
    ),
    QuestionType(
        "strength",
        r"\b(?:what|which|different|available) (?:\w+ ){0,2}stren(?:g)?ths?\b|\bhow (?:is .{1,40} )?supplied\b"
        r"|\b(?:mgs?|milligrams?|doses?|dosages?|sizes?|forms?)\b.{0,40}\b(?:comes? in|available)\b"
        r"|\bwhat (?:are the )?(?:mgs?|milligrams?|mcg|grams?)(?: (?:is|are|in|of|for|does)\b|\W*$)"
        r"|\b(?:lowest|highest|smallest|biggest) (?:dose|mg|strength)\b.{0,40}\bcomes? in\b",
        relations=r"规格|strength",
        of_medicines=True,
        says=("strengths", "规格"),
    ),
    QuestionType(
        "appearance",
        r"\b(?:what|which) (?:colou?rs?|shapes?|sizes?|imprints?|markings?)\b|\b(?:colou?r|shape|imprint|marking)s?"
        r" (?:is|are|of|on)\b|\bwhat (?:(?:do|does) )?(?:(?!\b(?:makes?|using|taking)\b).){2,60}?\blooks? like\b",
        relations=r"性状|外观|appearance",
        of_medicines=True,
        says=("colour, shape or imprint", "外观"),
    ),
    QuestionType(
        "contents",
        r"\b(?:what|which)(?:['’]s| is| are)(?: all)? in (?!the (?:pipeline|news|body)\b)(?!my |his |her )"
        r"|\bingredients?\b|\bwhat (?:do|does) .{2,40} contain\b|\bcontain(?:s|ed)?\b(?=.{0,40}\W*$)"
        r"|\b(?:gluten|lactose|sugar|dairy|latex)[ -]free\b",
        relations=r"辅料|ingredient|excipient",
        of_medicines=True,
        says=("list of ingredients", "成份"),
    ),
    QuestionType(
        "brand",
        r"\b(?:brand|trade|generic|chemical) names?\b|\bwho (?:makes|manufactures|produces)\b"
        r"|\bmanufacturers?\b|\boff the market\b|\bgeneric (?:for|of|version)\b",
        relations=r"商品名|brand",
        of_medicines=True,
        says=("brand names or makers", "商品名与厂家"),
    ),
    QuestionType(
        "pronunciation",
        r"\bpronounc|怎么念|怎么读",
        relations=r"拼音|pronunc",
        says=("pronunciation", "读音"),
    ),
    QuestionType(
        "age limit",
        r"\bage (?:limits?|restrictions?|groups?|range)\b|\b(?:minimum|lowest|youngest|what|which) age\b|\bhow old\b"
        r"|\bwhat ages\b",
        relations=r"年龄|age limit",
        of_medicines=True,
        says=("age limit", "年龄限制"),
    ),
    QuestionType(
        "dose by weight",
        r"\bper (?:kg|kilo)|/ ?kg\b|\bmg/kg|\b\d{1,20} ?(?:kg|kilo\w*)\b|每(?:公斤|千克)|按体重"
        r"|(?<!\d)\d{1,20} ?(?:公斤|千克|kg)",
        relations=r"体重|weight",
        says=("dose by body weight", "按体重的剂量"),
    ),
    QuestionType(
        "change of dose",
        r"(?:increase|reduce|raise|lower|double|halve|change|adjust|skip|miss(?:ed)?|stop|do with)\b.{0,40}"
        r"\bdos(?:e|age)"
        r"|\b(?:stop|quit|discontinu|cease)\w* (?:taking|using|use of|the (?:tablets?|pills?|medic\w+|drugs?))\b"
        r"|\b(?:results?|effects?|risks?) of (?:stopping|quitting|discontinuing)\b|\bsafely (?:stop|quit|discontinue)\b"
        r"|\b(?:we[ae]n(?:ed|ing)?|taper(?:ed|ing)?|com(?:e|es|ing)|get(?:ting)?|taken) (?:\w+ ){0,2}off\b"
        r"(?! (?:work|school)\b)|\btaper\w*\b"
        r"|\bstop(?:ping|ped)? .{1,40}\b(?:suddenly|at once|cold turkey)\b|\bwithdrawal\b"
        r"|(?:漏服|漏吃|忘(?:了|记)吃|加量|减量|停药|调整剂量|换药)",
        relations=r"漏服|减量|停药|missed",
        says=("advice on changing or stopping a dose", "调整用药的建议"),
    ),
)
CULPRIT = next(row for row in TYPES if row.name == "culprit")
