"""English questions to the packaged graphs: what a person who asks them must read, and must not."""

from itertools import islice

import pytest

from kgmed.graph.base import ByRole
from kgmed.graph.store.store import Store
from kgmed.records import Entity, Role
from kgmed.session import Session

pytestmark = pytest.mark.starter


@pytest.fixture(scope="module")
def english(hpo: Store, cmekg: Store) -> Session:
    return Session(("hpo", "cmekg"), {"hpo": hpo, "cmekg": cmekg}.__getitem__, {"hpo": "en", "cmekg": "zh"})


SAID = [  # question, what is said, what is not
    # what closes a story is read by what it tells
    ("I have a stiff neck, fever and light hurts my eyes. What should I do?", ["Diseases that fit", "eningitis"], []),
    ("My daughter was diagnosed with Rett syndrome. What should we expect?", ["Findings of Rett syndrome"], []),
    ("It burns when I pee and I have to go every ten minutes.", ["Diseases that fit"], ["duration"]),
    # what is told beside the sentence that asks is no subject, where that has one
    ("I have Rett syndrome. What are the symptoms of Marfan syndrome?", ["gs of Marfan"], ["gs of Rett"]),
    ("What are the symptoms of Marfan syndrome? I have Rett syndrome.", ["gs of Marfan"], ["gs of Rett"]),
    ("What are the signs of Marfan syndrome? And those of Rett syndrome?", ["gs of Marfan", "gs of Rett"], []),
    # what is in a product is no list of all that has it in it; what is forbidden is not said to be unknown as well
    ("Is aspirin an ingredient in Zorbexil?", ["“Zorbexil” is not in the graph"], ["What contains"]),
    ("Can people with asthma use timolol eye drops?", ["asthma: timolol"], []),
    ("Can I eat grapefruit with simvastatin?", ["grapefruit: simvastatin"], ["is not in the graph"]),
    # a place is not what is asked about
    ("How is rabies treated in Thailand?", ["Rabies"], ["“Thailand”"]),
    # how often a disease shows a finding
    ("How common are seizures in Angelman syndrome?", ["Angelman syndrome can show Seizure ("], ["population"]),
    ("What percentage of Marfan syndrome patients have ectopia lentis?", ["Ectopia lentis ("], ["population"]),
    ("How common is gout?", ["no frequency in the population for Gout"], []),
    # of a mode of inheritance its diseases, of a gene what it causes
    ("Which diseases have mitochondrial inheritance?", ["Diseases with Mitochondrial inheritance"], ["that fit"]),
    ("List X-linked recessive disorders", ["Diseases with X-linked recessive inheritance"], []),
    ("Which disease does CFTR cause?", ["Diseases tied to the gene CFTR", "Cystic fibrosis"], []),
    # a name in one piece keeps its words; a longer name than the graph has is said, or counts as not found
    ("my cousin has Bloom syndrome, which gene is it?", ["BLM"], ["TBX15"]),
    ("treatments for congenital hearing loss", ["“congenital hearing loss” is answered as"], []),
    ("What are the treatments for bleach poisoning?", ["“bleach poisoning” is not in the graph"], ["acetylcysteine"]),
    # a denial ends where another thing is told, and nausea is no word that asks
    ("no words at all, always smiling, flaps hands, seizures: what is it?", ["Happy demeanor", "Seizure"], []),
    ("I have a headache and nausea", ["Headache, Nausea"], []),
    ("symptoms of angelman syndome", ["Angelman syndrome"], ["not in the graph"]),
    # an allergy is read in whatever words: to a class that the graph has not, before or behind its name
    ("sulfa allergy, can I take sulfamethoxazole?", ["Not suitable for this patient", "to sulfa"], ["no proof"]),
    ("I am allergic to sulfa drugs, can I take sulfamethoxazole?", ["Not suitable for this patient"], ["no proof"]),
    ("I am not allergic to sulfa drugs. Can I take sulfamethoxazole?", [], ["Not suitable for this patient"]),
    ("I am allergic to penicillin. What antibiotics can I take?", [], ["given for"]),
    # what stays in a list and is risky for this patient is named, also where the list is long
    ("I am allergic to cefaclor. What can I take for pneumonia?", ["linezolid", "with care", "Amoxicillin"], []),
    # what is not known to suit is said in an answer of any length
    ("What can I take for acne while pregnant?", ["Sparfloxacin Tablets", "Which of these suit"], []),
    # of what treats an illness the medicines of the class that is asked for
    ("Which diuretic for heart failure?", ["Treatments of", "urosemide"], ["enalapril", "bisoprolol"]),
    # where a message asks what no graph has, what is known of the illness that it names is told
    (
        "I have Friedreich's ataxia. I am 31 years old. Which treatments are there? Thank you.",
        ["no treatments for Friedreich ataxia", "Findings of Friedreich ataxia"],
        [],
    ),
    (
        "My son was told that he has Williams syndrome. Where in Texas is a hospital that knows it? Thank you.",
        ["no question that a medical graph answers", "What the graph has of Williams syndrome", "Findings of Williams"],
        [],
    ),
    ("Which gene causes gout?", [], ["Treatments of"]),
    # the heading of a message names what it is about
    (
        "SUBJECT: Psoriasis\nMESSAGE: I have had this for years. What treatment is there for the itching?",
        ["Treatments of psoriasis"],
        [],
    ),
    # what is of many kinds is not treated by one list, and no illness stands among treatments
    ("My father has cancer. He is 70 years old. What treatment is there for it?", ["of many kinds"], ["ramadol"]),
    ("treatment of brain damage", ["Citicoline"], ["Concussion"]),
    # a product is named by what is in it, Chinese names in Latin letters come last, and what was withdrawn never
    ("treatment of abdominal pain", ["Rociverine"], ["Rilaten"]),
    ("treatment of tinnitus", ["Betahistine"], ["Sanbian"]),
    ("treatment of obesity", ["Orlistat"], ["Sibutramine", "Fenfluramine"]),
    # a thing is not held against itself
    ("Is acute constipation a sign of diabetes? I have constipation.", [], ["can show Constipation"]),
]


@pytest.mark.parametrize(("text", "said", "never"), SAID)
def test_what_is_asked_is_what_is_answered(english: Session, text: str, said: list[str], never: list[str]) -> None:
    answer = english.ask(text).answer.text
    assert [part for part in said if part not in answer] == [], answer
    assert [part for part in never if part in answer] == [], answer


MODES = {"Autosomal dominant": "autosomal dominant", "Autosomal recessive": "autosomal recessive"} | {
    f"X-linked {kind}": f"X-linked {kind}" for kind in ("dominant", "recessive")
}


def test_a_mode_of_inheritance_is_affirmed_of_the_diseases_that_have_it_alone(english: Session, hpo: Store) -> None:
    """The opposite of what a graph says is the worst answer: 240 questions made from its own diseases."""
    has: dict[Entity, set[str]] = {}
    for name in MODES:
        [mode] = (m.entity for m in hpo.lookup(f"{name} inheritance")[:1])
        for t in islice(ByRole(hpo, Role.INHERITANCE).subjects([hpo.number(mode.id)]).edge.tolist(), 400):
            has.setdefault(hpo.triple(t).subject, set()).add(name)
    clear = sorted((e for e, modes in has.items() if len(modes) == 1 and _is_plain(e.name)), key=lambda e: e.id)
    for disease in clear[:: len(clear) // 30][:30]:
        for name, asked in MODES.items():
            for words in ("Is {} {}?", "Is it true that {} is {}?"):
                said = english.ask(words.format(disease.name, asked)).answer.text
                assert not said.startswith("Yes" if name not in has[disease] else "No"), (disease.name, asked, said)


def _is_plain(name: str) -> bool:
    """Whether a name says nothing of a mode itself."""
    return name.replace(" ", "").isalpha() and "inked" not in name and "utosomal" not in name
