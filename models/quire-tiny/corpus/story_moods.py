# SPDX-License-Identifier: Apache-2.0
"""Owns what a mood adds to a story: the air at the start, a turn in the middle, the end."""

FAMILY_OF_MOOD: dict[str, str] = {}
for _family, _moods in {
        "warm": "happy cheerful joyful merry hopeful heartwarming warm tender",
        "sad": "sad gloomy lonely melancholic wistful",
        "funny": "funny silly playful",
        "scary": "scary spooky eerie strange",
        "calm": "calm peaceful gentle serene quiet sleepy dreamy cosy thoughtful",
        "bold": "exciting adventurous wild brave",
        "wonder": "mysterious magical",
        "love": "romantic"}.items():
    for _mood in _moods.split():
        FAMILY_OF_MOOD[_mood] = _family

# Sentences that name the mood itself; one of them is always used when a mood was asked for.
NAMED: list[str] = [
    "It was {a_mood} [morning|evening|afternoon|day], and [nobody knew yet what it would bring|"
    "{hero} noticed it at once|even the air seemed to know it].",
    "It was {a_mood} [day|night|evening] [in early spring|in late summer|in the middle of autumn|"
    "at the end of winter|after a week of rain].",
    "Everything {at2} felt {mood} that [day|morning|evening].",
    "There was something {mood} in the air that [day|morning|evening].",
    "It began as {a_mood} [morning|day|evening], the kind that [people remember|comes only once a "
    "year|makes you stop and look around].",
    "Perhaps it was the weather, but the whole day felt {mood}.",
    "{Hero} {was} in {a_mood} mood that [day|morning|evening].",
]

AIR: dict[str, list[str]] = {
    "warm": [
        "The sun was out, and {hero} hummed [a little tune|an old song|the same three notes] all "
        "morning.",
        "[Bread was baking somewhere|Flowers stood in every window|A soft wind came over the "
        "roofs], "
        "and {hero} could not stop smiling.",
        "{He} liked [nearly everything|most things], and nearly everyone liked {him}.",
        "Every morning {he} said hello to [the sun|the first bird|the day], just in case it was "
        "listening.",
    ],
    "sad": [
        "The sky hung low and grey, and {hero} had not laughed in a long while.",
        "It had rained for [six|nine|eleven] days, and {hero} missed [a friend who had moved away|"
        "the long bright days of summer|someone {he} could not name].",
        "{He} often sat alone [by the window|under the eaves|on a cold step] and counted the "
        "raindrops.",
        "Since the first frost {hero} had hardly spoken to anyone.",
    ],
    "funny": [
        "{Hero} had [odd socks|a hiccup that would not stop|porridge on {his} nose] and did not "
        "mind at all.",
        "Nothing ever went to plan for {hero}, and {he} had stopped making plans.",
        "{Hero} {was} known for [sneezing at the worst moment|talking to soup|walking into doors], "
        "and that day was no exception.",
        "It all started because {hero} forgot which way was left.",
    ],
    "scary": [
        "The wind howled, and [a shutter banged somewhere|something scratched at the wall|"
        "the shadows were longer than they should be].",
        "Nobody went out after dark there, nobody but {hero}.",
        "Every night at twelve [a slow knocking|a cold whisper|the sound of heavy steps] came "
        "from below.",
        "A thick fog crept in, and {hero} felt that something was watching.",
    ],
    "calm": [
        "The evening was soft, and nothing was in a hurry.",
        "[Snow fell without a sound|A kettle sang to itself|The clouds drifted by like slow "
        "boats], and "
        "{hero} [breathed in deeply|{was} in no hurry at all|listened for a long time].",
        "{Hero} liked the quiet hour when the light turns gold.",
        "The day had been long, and now the whole world seemed to yawn.",
    ],
    "bold": [
        "{Hero} had [packed a bag|tied {his} boots twice|drawn a map on an old napkin] and would "
        "wait no longer.",
        "The wind tugged at everything, and {hero} felt {his} heart beat faster.",
        "Far away a horn sounded, and {hero} knew that this was the day.",
        "{Hero} had always dreamed of doing something nobody had done before.",
    ],
    "wonder": [
        "A pale light flickered where no light should be.",
        "People said that [strange things happened there at dusk|the stars stood closer there than "
        "anywhere else|one could hear the stones whisper].",
        "That night the moon was [green|twice its size|as thin as a hair], and {hero} could not "
        "sleep.",
        "There was a riddle about that place, and nobody had ever solved it.",
    ],
    "love": [
        "Violins played somewhere, and {hero} sighed without knowing why.",
        "For weeks {hero} had been trying to say one small sentence.",
        "The evening smelled of [roses|rain and lilac|warm bread], and {hero} thought of only "
        "one face.",
    ],
}

TURN: dict[str, list[str]] = {
    "warm": ["{He} laughed out loud for no reason at all.",
    "It felt like [a small holiday|a birthday|"
             "sunshine after rain].", "A good feeling spread from {his} toes to {his} ears."],
    "sad": ["A tear rolled down {his} cheek, slow and quiet.", "For a moment {he} felt very small.",
            "{He} thought of [old days|a song from long ago|how things had been before], and {his} "
            "heart grew heavy."],
    "funny": ["Then {he} slipped, spun around twice and landed in [a bowl of jelly|a heap of "
    "laundry|a "
              "very surprised hedge].", "A passing [duck|goose|pigeon] laughed so hard that it "
              "had to sit down.",
              "At this point somebody's hat caught fire, but only a little."],
    "scary": ["Something cold brushed past {his} neck.",
    "{His} knees shook, but {he} did not turn back.",
              "Behind {him}, a twig snapped.", "The light went out, and for three breaths it was "
              "perfectly dark."],
    "calm": ["{He} took a slow breath and let the moment be.",
    "Time went by as softly as falling snow.",
             "Somewhere a clock ticked, unhurried."],
    "bold": ["There was no time to lose.", "{He} ran, jumped, and [just made it|held on with all "
    "{his} "
             "strength|did not look down].", "The ground shook, but {hero} stood firm."],
    "wonder": ["For a heartbeat everything shimmered.",
    "{He} heard {his} own name, spoken very softly.",
               "The air smelled of [thunder and honey|old books|snow], though the day was warm."],
    "love": ["{His} heart beat like a small drum.", "For a moment, nobody said a word, and it "
    "was enough."],
}

END: dict[str, list[str]] = {
    "warm": ["That evening {hero} fell asleep with a smile.",
    "And from that day on, [the door was never "
             "locked|there was always tea for two|every morning began with a laugh].",
             "It was the best day {hero} could remember.",
             "And {hero} {was} happy, right down to {his} toes."],
    "sad": ["{Hero} still felt sad sometimes, but no longer alone.",
    "The rain went on, yet it sounded a "
            "little softer now.", "Some things do not come back, {hero} thought, but they are "
            "not lost either.",
            "And when the tears had dried, a small warm light stayed behind."],
    "funny": ["To this day nobody can explain [the jelly|the left shoe|what happened to the hat].",
              "{Hero} laughed until {his} belly hurt, and then {he} did it all again.",
              "And that is why you should never [argue with soup|trust a goose|close a door "
              "behind you "
              "without looking]."],
    "scary": ["The knocking never came back, or almost never.",
    "Since then {hero} sleeps with one eye open.",
              "But on foggy nights, when it is very still, you can hear it even now.",
              "And {hero} {was} not afraid of the dark any more, only careful."],
    "calm": ["Then {hero} closed {his} eyes, and the night did the rest.",
    "The stars came out one by one, "
             "and all was well.", "And slowly, very slowly, everything came to rest.",
             "{Hero} breathed out, and the day was done."],
    "bold": ["Tomorrow there would be another adventure, and {hero} could hardly wait.",
             "People still tell of that day, and each time the danger grows a little.",
             "And {hero} {was} already looking at the horizon."],
    "wonder": ["What it really was, nobody ever found out.",
    "In the morning only a trace of silver dust was left.",
               "{Hero} kept the secret, and the secret kept {hero}."],
    "love": ["They watched the sun go down, hand in hand.",
    "And the small sentence, once said, never needed "
             "to be said louder.", "From that evening on, neither of them walked home alone."],
}
