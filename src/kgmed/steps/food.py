"""What may be eaten with an illness: what a graph says of it under other roles than those of food."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kgmed.graph.base import ByRole, LocalGraph
from kgmed.language.pair import is_yes_no
from kgmed.language.particulars import drinks_of, people_of
from kgmed.language.text import lazily
from kgmed.records import Entity, Evidence, Link, Query, Role, Triple
from kgmed.steps.family import Family
from kgmed.steps.phrase import affirmed, sentence, verdict
from kgmed.steps.retrieve import told

_FOODS = (  # everyday foods and drinks, as people ask for them
    "海鲜|海带|紫菜|虾|螃?蟹|鱼|西瓜|水果|香蕉|苹果|橘子|橙子|葡萄(?!糖)|柚子|西柚|榴莲|芒果|荔枝|桃|鸡蛋|蛋黄|牛奶|酸奶"
    "|豆浆|豆腐|豆制品|牛肉|羊肉|猪肉|肥肉|肉|动物内脏|内脏|火锅|辣椒|辣的?|咖啡|浓茶|茶|巧克力|甜食|甜的|糖(?!尿)|蜂蜜|咸菜"
    "|腌菜|盐|粽子|花生|坚果|蘑菇|菠菜|芹菜|萝卜|土豆|红薯|米饭|面条|馒头|粥|蛋糕|油炸食品|油炸|糯米|月饼|可乐|饮料|鸡汤"
)
_ASKS = lazily(rf"(?:吃|喝|食用?|饮)(?:点|些|一点)?(?P<food>{_FOODS})")
_OF_FOOD = lazily(
    "饮食|膳食|摄入|食物(?!中毒|过敏)|食用|多食|[低限][盐钠脂糖铜碘嘌蛋]|限制?[盐钠]|钠的|水果|蔬菜|饮酒|酒类|酒精饮料|啤酒|烈酒|海鲜"
    "|内脏|辛辣|油腻|营养师|流食|流质|禁食|膳食纤维|饮水|咖啡"
)
_NOT = lazily("减少|[低限少忌禁]|避免|戒|不")
_BAD = (Role.AVOID, Role.CONTRAINDICATED, Role.RISK, Role.CAUSE)
_DONE = (Role.FOOD, Role.PREVENTION, Role.TREATS)
_LISTED = 12
_FOODS_TOLD = 3


@dataclass(frozen=True)
class Diet:
    """What a graph says of food and an illness: its food, risks, causes, prevention and treatments that are of food."""

    graph: LocalGraph

    def of(self, links: Sequence[Link]) -> list[Evidence]:
        """What is said of food, a piece a role; [] where nothing is."""
        found: dict[tuple[Entity, Role], list[Triple]] = {}
        for link in links:
            for t in self._triples(link):
                if _OF_FOOD.search(_other(t).name):
                    found.setdefault((_ill(t), t.relation.role), []).append(t)
        ordered = sorted(found, key=lambda key: key[1] in _BAD)  # what is good before what is bad
        return [
            Evidence(f"{ill.name} {told(ill, rows)}", "neighbours", tuple(rows[:_LISTED]), (ill,), 1.0)
            for ill, role in ordered
            if (rows := found[ill, role])
        ]

    def verdict(self, query: Query, links: Sequence[Link]) -> list[Evidence]:
        """Whether a food that is asked about may be eaten with the one illness that is named, and what else is said."""
        ill = [link for link in links if link.entity.kind == "disease" and not link.mention.negated]
        other = drinks_of(query.text) or people_of(query.text)
        if not is_yes_no(query.text) or other or len({link.entity for link in ill}) != 1:
            return []
        foods = self.foods(query.text, ill[0])
        return [*foods, *(self.of(ill) if any(e.id == "none" for e in foods) else [])]

    def foods(self, text: str, ill: Link) -> list[Evidence]:
        """A verdict for each food that a question names."""
        asked = dict.fromkeys(m["food"].removesuffix("的") for m in _ASKS.finditer(text))
        return [self._of_a_food(food, ill) for food in list(asked)[:_FOODS_TOLD]]

    def _of_a_food(self, food: str, ill: Link) -> Evidence:
        """Whether a food may be eaten with an illness, as far as what is said of the two tells."""
        named = [t for t in self._triples(ill) if food in _other(t).name]
        bad = [t for t in named if t.relation.role in _BAD or _NOT.search(_other(t).name)]
        shown, facts = (bad or named)[:3], [sentence(t, 1) for t in (bad or named)[:3]]
        about = (ill.entity, Entity("", food))
        if not shown:
            return Evidence(verdict("food", 1, (), ill.entity.name, food), "verdict", (), about, 1.0, "none")
        said = affirmed("不宜" if bad else "可以", 1, facts)
        return Evidence(said, "verdict", tuple(shown), about, 1.0, "no" if bad else "yes")

    def _triples(self, link: Link) -> Iterator[Triple]:
        """What the entries of an illness, and of it as an illness of its own, have in those roles, each once."""
        plain = (m.entity for m in self.graph.lookup(f"原发性{link.entity.name}")[:1])
        nodes = [self.graph.number(e.id) for e in dict.fromkeys([*Family(self.graph).twins(link), *plain])]
        for role in (*_BAD, *_DONE):
            steps, once = ByRole(self.graph, role), dict[str, Triple]()
            hops = steps.subjects(nodes) if role is Role.TREATS else steps.objects(nodes)
            for node, edge in zip(hops.node.tolist(), hops.edge.tolist(), strict=True):
                other = self.graph.at(node)
                if other.kind not in _TAKEN and other.name not in once:
                    once[other.name] = self.graph.triple(edge)
            yield from once.values()


_TAKEN = frozenset({"drug", "ingredient", "medicine"})


def _other(triple: Triple) -> Entity:
    """What is eaten, left or done about the illness of a triple."""
    return triple.subject if triple.relation.role is Role.TREATS else triple.object


def _ill(triple: Triple) -> Entity:
    """The illness of a triple."""
    return triple.object if triple.relation.role is Role.TREATS else triple.subject
