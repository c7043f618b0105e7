# SPDX-License-Identifier: Apache-2.0
"""Owns what stands around a plot: which fits, how it is wished for, lead-ins, sequels."""

# Which plots fit a mood: the family of the mood -> names of plots.
FITTING: dict[str, tuple[str, ...]] = {
    "warm": ("find", "present", "share", "new", "seed", "party", "teach", "show", "repair", "riddle"),
    "sad": ("goodbye", "trade", "lose", "new", "goodbye"),
    "funny": ("mishap", "build", "party", "contest", "trade", "lose", "mishap"),
    "scary": ("noise", "storm", "fog", "courage", "noise"),
    "calm": ("sleepless", "seed", "find", "journey", "repair", "teach"),
    "bold": ("journey", "courage", "contest", "treasure", "show"),
    "wonder": ("wish", "riddle", "noise", "treasure", "fog", "wish"),
    "love": ("goodbye", "present", "riddle", "show", "sleepless"),
}

# Plot -> what the user may wish to happen.
WISHES: dict[str, tuple[str, ...]] = {
    "find": ("who finds {a_thing}", "who found {a_thing}", "finding {a_thing}"),
    "lose": ("who [lost|loses|has lost] {his} {bare_thing}", "who can't find {his} {bare_thing}",
    "looking for {his} {bare_thing}"),
    "repair": ("who repairs {a_thing}", "with a broken {bare_thing}"),
    "present": ("who looks for a [birthday |]present", "who wants to give {a_thing} to a friend"),
    "storm": ("in a storm", "who gets caught in a storm"),
    "contest": ("who takes part in a contest", "who wants to win a race"),
    "journey": ("who goes on a [long |]journey", "who travels [far away|the world]",
    "who sets out [on an adventure|to see the world]"),
    "noise": ("who hears a strange noise [at night|]",),
    "courage": ("who is [always |]afraid", "who learns to be brave", "who wants to be brave",
    "who is afraid of everything"),
    "share": ("who learns to share", "who does not want to share"),
    "new": ("who is [lonely|new in town]", "who looks for [a friend|friends]",
    "who wants [a friend|to make friends]", "who has no friends"),
    "build": ("who builds {a_thing}", "who wants to build {a_thing}"),
    "wish": ("who gets [a|one] wish", "who has [a|one] wish", "who finds a magic {bare_thing}"),
    "fog": ("who gets lost [in the fog|]",), "sleepless": ("who cannot sleep", "who can't sleep",
    "who is awake at night"),
    "mishap": ("who gets stuck in {a_thing}",), "riddle": ("who gets a [strange |]letter",),
    "seed": ("who plants a [seed|tree]",), "party": ("who gives a party",
    "who has a birthday party"),
    "goodbye": ("who has to say goodbye", "who misses a friend"), "show": ("who is [very |]shy",
    "who wants to be on stage"),
    "winter": ("in winter", "in a cold winter"), "teach": ("who learns something new",
    "who learns to use {a_thing}"),
    "treasure": ("who looks for a treasure", "who finds a [treasure|treasure map]",
    "on a treasure hunt"),
}

LEAD_INS: list[str] = [
    "[Of course|Gladly|With pleasure|Sure|Here you go]! ", "Here is [a story|one] for you. ",
    "[Let me think|Let me see]... ", "[I would love to|I know just the one]. ",
]

TOPIC_LINES: list[str] = [
    "This is a story about {topic}.", "Here is a little story about {topic}.",
    "Let me tell you something about {topic}.",
]
TOPIC_ENDS: list[str] = [
    "And that is all I know about {topic}.", "So much for {topic}.",
    "That was a story about {topic}, and it is a true one, or nearly.",
]

CONTINUATIONS: list[str] = [
    "The next [day|morning], {hero} and {pal} met again {at2}. [They had a new plan|There was so "
    "much left to do|They "
    "talked about {thing} for hours]. And [in the evening|before it got dark] they agreed to [do "
    "it all again|keep {thing} "
    "safe|meet there every year].",
    "After that, life went on. {Hero} [kept {thing} on a shelf|often thought of that day|told "
    "the story to everyone], and "
    "{pal} came to visit [every Sunday|whenever it rained|more often than before]. [They never "
    "ran out of things to say.|And "
    "each time they laughed a little more.]",
    "A year later, {hero} stood at the same spot again. {Thing} was [a little older now|still "
    "there|as good as new], and {pal} "
    "[waved from afar|had brought a cake]. \"[Do you remember|So here we are],\" said {hero}, "
    "and [both of them did|they smiled].",
]
