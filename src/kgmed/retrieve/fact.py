"""What a triple says, whichever way its graph writes it: graphs such as EMCKG state each fact in both directions."""

from kgmed.types import Role, Triple

Fact = tuple[str, str, str]


def fact(triple: Triple) -> Fact:
    """Subject, role and object; the relation's own name where its role is not known.

    >>> from kgmed.types import Entity, Relation
    >>> flu, fever = Entity("1", "flu"), Entity("2", "fever")
    >>> there = Triple(flu, Relation("has_symptom", Role.FINDING), fever)
    >>> back = Triple(fever, Relation("possible_disease", Role.FINDING, reverse=True), flu)
    >>> fact(there) == fact(back)
    True
    """
    relation = triple.relation
    if relation.role is Role.OTHER:
        return triple.head.id, relation.name, triple.tail.id or triple.tail.name
    ends = (triple.subject, triple.object)
    return ends[0].id or ends[0].name, relation.role.value, ends[1].id or ends[1].name
