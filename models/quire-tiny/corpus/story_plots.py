# SPDX-License-Identifier: Apache-2.0
"""Owns the openings and the plots of the stories; every plot uses hero, thing, pal and place."""

OPENINGS: list[str] = [
    "Once upon a time, {a_hero} lived {at}.",
    "[Long ago|Once|Not so long ago], {a_hero} lived {at}.",
    "There was once {a_hero} who [lived|made {his} home|had a small home] {at}.",
    "{At} there lived {a_hero}.",
    "{At}, [far from the noise of the world|where the days were long|where everybody knew "
    "everybody|"
    "just behind the last house], lived {a_hero}.",
    "{A_hero} lived {at}, [all alone|in a very small house|with a view of the clouds|and liked "
    "it there].",
    "[Many years ago|Last winter|One summer|In a year with thirteen full moons], {a_hero} came "
    "to live {at}.",
    "[A long way from here|Far away], {at}, lived {a_hero}.",
    "This is the story of {a_hero} who lived {at}.",
    "Have you heard of {a_hero} who lived {at}?",
    "There was a time when {a_hero} lived {at}, and this is what happened.",
    "Nobody {at} was [better known|better loved|more curious] than {a_hero}.",
    "[Early one spring|On the first day of autumn|One quiet evening], {a_hero} sat {at} and "
    "wondered what to do.",
]

# Each plot is a list of sentences; each sentence is one template or a list to choose from.
PLOTS: dict[str, list[str | list[str]]] = {
    "find": [  # something is found, and its owner becomes a friend
        "One [morning|evening|windy day], {hero} found {a_thing} [under a bench|behind a "
        "stone|in the tall "
        "grass|on {his} doorstep].",
        ["\"[Who could have lost this|To whom does this belong|Now where did you come from]?\" "
         "{he} "
         "[wondered|asked aloud|whispered].",
         "It was [a little dusty|still warm|wet with dew], and it clearly belonged to somebody."],
        "{He} asked [everyone {he} met|the neighbours|everybody for miles around], but nobody "
        "had lost "
        "{a_thing_again}.",
        ["At last {he} met {a_pal}, who [looked everywhere with worried eyes|was searching the "
         "ground|sat "
         "there and sighed].", "Then {a_pal} came along, [quite out of breath|looking terribly "
         "worried]."],
        "\"[My {bare_thing}|You found my {bare_thing}]!\" cried {pal}. \"[I have looked for it "
        "all day|I "
        "thought it was gone for good|It was a present from my grandmother].\"",
        "{Hero} handed {thing} over, [and {pal} danced with joy|and both of them "
        "laughed|although it was "
        "hard to let go].",
        ["To say thank you, {pal} [cooked a big pot of soup|invited {him} to supper|shared a "
         "whole cake].",
         "From then on, the two of them [met every week|were the best of friends|took care of "
         "{thing} together]."],
    ],
    "lose": [  # something is lost and found again in an unlikely spot
        "{Hero} owned one thing that mattered more than anything else: {a_thing}.",
        "[But one morning|Then, one day|On a Tuesday], {thing} [was gone|had vanished|was "
        "nowhere to be seen].",
        "{He} looked [under the bed, behind the door and even in the soup|high and low|in every "
        "corner {at2}], "
        "but it was nowhere to be found.",
        ["{A_pal} [heard about it|saw {him} searching|came by] and said, \"[Two pairs of eyes "
         "see more than "
         "one, don't they|Shall we look together|Where did you have it last]?\"",
         "\"[Do not worry|Don't give up],\" said {a_pal}, who was passing by. \"[We will find "
         "it|Things like "
         "to hide, that is all].\""],
        "Together they [turned over every stone|walked back the whole way|asked every bird and "
        "beetle].",
        "And then {pal} began to [laugh|giggle]: {thing} had been [hanging on a branch right "
        "above them|on "
        "{hero_s} own back|in the first place they had looked] all along.",
        "[\"Sometimes we look too far away,\" said {hero}.|{Hero} hugged {pal} and held {thing} "
        "tight.|They "
        "laughed until the sun went down.]",
    ],
    "repair": [  # something is broken and repaired
        "{Hero} had {a_thing} that [had never worked|had been broken for years|made a sad little "
        "sound].",
        "[\"Throw it away,\" people said.|Everybody told {him} to get a new one.] But {hero} "
        "[shook {his} head|"
        "would not hear of it|only smiled].",
        "[One day|One rainy afternoon] {he} [carried it to|showed it to] {a_pal}, who [was good "
        "at mending "
        "things|knew a lot about such matters|loved riddles].",
        "They [took it apart|cleaned every bit of it|looked at it from all sides], and [it took "
        "hours|night "
        "fell before they noticed|the tea went cold].",
        ["First they tried [string|glue|a drop of oil], then [wax|a new screw|patience], and "
         "then {pal} had an idea.",
         "\"Perhaps it is not broken,\" said {pal}. \"Perhaps it is only [tired|waiting|shy].\""],
        "{Hero} [tapped|turned|blew on] it [very gently|three times|one last time], and {thing} "
        "came to life.",
        "For a moment [even the wind|everyone {at2}] seemed to hold [very still|a deep breath].",
        "[After that, {hero} never called anything useless again.|Since then {thing} has never "
        "stopped "
        "working.|\"You see,\" said {hero}, \"it only needed someone to believe in it.\"]",
    ],
    "present": [  # a present for a friend
        "It was nearly the birthday of {a_pal}, and {hero} had no present yet.",
        "{He} wanted to give [something special|something nobody else would think of|the best "
        "present in the world].",
        "{He} thought of [a song|a pie|a bunch of flowers], but none of it felt right.",
        "Then, [on the way home|in a dusty corner {at2}|at the very bottom of an old chest], "
        "{he} [saw|found|"
        "came across] {a_thing}.",
        "{He} [polished it all night|wrapped it in leaves and string|tied a red bow around it] "
        "and [set off at "
        "once|could hardly wait].",
        "{Pal} [opened the wrapping slowly|looked at it for a long time|did not say a word at "
        "first]. \"{A_thing}! "
        "[I have always wanted one|How did you know|It is perfect]!\"",
        "They [ate cake until late|sang all the songs they knew|danced {at2} until the moon came "
        "up].",
    ],
    "storm": [  # a storm
        "One [night|evening], a great storm came up {at2}.",
        "[Rain beat down|Thunder rolled|The wind pulled at everything that was not tied down], "
        "and {hero} {was} "
        "[wet through|shivering|not sure which way to go].",
        "All {he} had was {a_thing}, and {he} held it [close|tight|under {his} arm].",
        "Then {he} heard a small voice. [Under a root|Behind a wall|In a hole in the ground] sat "
        "{a_pal}, "
        "[trembling|cold and frightened|with tears in both eyes].",
        "\"Come,\" said {hero}, \"[we will wait together|there is room for two|a storm is only "
        "half as bad "
        "with company].\"",
        "They put {thing} between them and [told each other stories|looked at it until they felt "
        "braver|took "
        "turns holding it].",
        "Towards morning the clouds broke, and [the first light fell on {thing}|the world "
        "smelled new|a bird "
        "began to sing].",
        "[\"I hardly heard the thunder,\" said {pal}.|Since that night, {pal} has never been "
        "afraid of storms.]",
    ],
    "contest": [  # the contest
        "Once a year there was a great contest {at2}, and [everyone took part|the winner got a "
        "golden cup|"
        "nobody wanted to miss it].",
        "{Hero} came with nothing but {a_thing}.",
        "[People giggled.|\"With that?\" somebody laughed.|The others had brought far bigger "
        "things.]",
        "The favourite was {a_pal}, who [had won five times|never lost|was faster than anyone].",
        "But halfway through, {pal} [stumbled|got stuck in the mud|hurt a foot] and could not go "
        "on.",
        "{Hero} stopped, turned around, and used {thing} to [help|pull {pal} free|cheer {pal} up].",
        "So neither of them won. [But the crowd clapped louder than ever before.|Still, they "
        "crossed the line "
        "side by side.|But on the way home they shared a bag of warm nuts.]",
        "\"[Winning is nice|A cup only collects dust],\" said {pal}, \"but [a friend is "
        "better|this was more fun|you "
        "cannot have tea with a cup that is golden].\"",
    ],
    "journey": [  # a journey
        "[One day|Early one morning|When the snow had melted], {hero} packed {a_thing} and set "
        "out to [see the "
        "end of the world|find where the river begins|visit the highest hill of all].",
        "The road was [long|dusty|steep], and by noon {his} feet hurt.",
        "On the third day {he} met {a_pal}, who [was sitting on a milestone|had lost the "
        "way|asked for a little bread].",
        "\"Where are you going with {a_thing_again}?\" asked {pal}. \"[I do not know yet|As far "
        "as it takes me|"
        "Come along and see],\" said {hero}.",
        "So they went on together, [over bridges and under stars|through rain and through "
        "sunshine|singing when "
        "the way grew hard].",
        "When they arrived at last, [the view took their breath away|there was nothing there but "
        "wind and sky|the "
        "whole land lay below them like a quilt].",
        "{Hero} [set {thing} down on the highest stone|looked at {thing} and smiled], and they "
        "[stayed until "
        "evening|said nothing for a while].",
        "Then they turned back to {place}, because [home is the best part of a journey|somebody "
        "had to tell the tale].",
    ],
    "noise": [  # a noise in the night
        "Every night, a strange sound came from somewhere {at2}: [tap, tap, tap|a long low "
        "hum|something like a "
        "sneeze].",
        "Nobody dared to look, but {hero} [lit a candle|took a deep breath|put on warm socks] "
        "and went to see.",
        "{He} tiptoed [past the dark corners|down a crooked path|around the last bend], and the "
        "sound grew louder.",
        "And there sat {a_pal} with {a_thing}, [working away|half asleep|quite alone].",
        "\"[Oh dear, I am so sorry|I did not mean to frighten anyone|I thought nobody could hear "
        "me],\" said {pal}. "
        "\"I only come at night because [by day I am too shy|it is so quiet|nobody has ever "
        "asked me to come in the "
        "daytime].\"",
        "{Hero} [sat down beside {pal}|laughed with relief]. \"May I try {thing} too?\"",
        "So they took turns until [the sun came up|the cock crowed|both of them yawned].",
        "Since then there have been two of them every night, and [nobody complains any more|the "
        "sound is rather "
        "beautiful].",
    ],
    "courage": [  # courage
        "{Hero} {was} afraid of [the dark|high places|deep water|loud noises], and everyone "
        "{at2} knew it.",
        "One day {he} [found|came across|bought] {a_thing}. \"Whoever carries it is brave,\" [an "
        "old note said|"
        "people told {him}|said the old woman next door].",
        "{He} did not quite believe it, but {he} kept {thing} close.",
        "That very week {a_pal} got into trouble [on the far side of the bridge|at the bottom of "
        "an old well|high "
        "up on a ledge].",
        "There was no one else, so {hero} [took {thing}, closed {his} eyes and went|swallowed "
        "hard and climbed|"
        "whispered \"now or never\" and ran].",
        "[Step by step|Inch by inch|With shaking knees] {he} came nearer, until {pal} could "
        "reach out and hold on.",
        "\"[How brave you are|You saved me],\" said {pal}. \"It was {thing},\" said {hero}. \"It "
        "makes you brave.\"",
        "{Pal} looked at it closely and smiled. \"[This is an ordinary {bare_thing}|There is no "
        "magic in it at all]. "
        "The courage was yours.\"",
    ],
    "trade": [  # a chain of trades
        "{Hero} had {a_thing}, but {he} wanted something [bigger|shinier|better].",
        "So {he} traded it for [a clock|a bag of apples|a blue coat], and that for [a goat|a "
        "drum|a fine hat], and "
        "that for [a single golden button|a jar of stars|a map with a hole in it].",
        "For a day {he} {was} very proud. [Then the evenings grew long.|But it was not the "
        "same.|But something was missing.]",
        "{He} missed {thing}: [the weight of it|the way it looked in the morning|all the hours "
        "they had spent together].",
        "[At the market|By chance|On the way home] {he} met {a_pal}, who now had {thing}.",
        "\"[I would give you everything I own for it|I have made a big mistake],\" said {hero}. "
        "{Pal} [smiled|thought about it] and "
        "said, \"[Take it, but tell me a story first|Just tell me a story, that is enough].\"",
        "So {hero} told a story about {place}, and [it took until midnight|both of them laughed "
        "and cried], and then "
        "{he} carried {thing} home.",
    ],
    "share": [  # sharing
        "{Hero} and {a_pal} both wanted the same {bare_thing}, and there was only one {at2}.",
        "\"I saw it first!\" said {hero}. \"But I need it more!\" said {pal}.",
        "They [pulled and pushed|argued for an hour|did not speak for a whole day], and {thing} "
        "[fell into a "
        "puddle|was nearly torn in two|got muddier and muddier].",
        "[An old tortoise|A small bird|The wind itself], it seemed, [shook its head|sighed at so "
        "much noise].",
        "At last {hero} sat down. \"[This is no fun|We are being foolish],\" {he} said. \"[You "
        "take it in the morning, and "
        "I take it in the evening|Let us both hold one end].\"",
        "{Pal} [nodded|blushed a little|held out a hand], and they [shook on it|cleaned {thing} "
        "together].",
        "It turned out that [half of something is more when you share it|the best time was the "
        "hour when both of them "
        "were there].",
    ],
    "new": [  # new and lonely
        "{He} {was} new there and did not know anyone yet.",
        "[On the first day nobody said hello.|Everybody seemed to have friends already.|The "
        "others were busy and "
        "hurried past.]",
        "All that {hero} had brought along was {a_thing}, so {he} [sat down with it|put it "
        "outside the door|took it for "
        "a walk].",
        "[After a while|Before long] {a_pal} [stopped|came closer|peeped around the corner]. "
        "\"What is that?\" \"{A_thing},\" "
        "said {hero}. \"Would you like to [see it|hold it|try it]?\"",
        "The next day {pal} came back and brought [two cousins|a friend|the whole neighbourhood].",
        "By the end of the week, {thing} was the most famous {bare_thing} {at2}, and [{hero} "
        "knew everybody by name|"
        "there was hardly room to sit].",
        "\"[I was going to say hello on the first day|I was shy too],\" {pal} "
        "[admitted|confessed] later. \"I [only needed a "
        "reason|just did not know how].\"",
    ],
    "build": [  # building something
        "{Hero} had made up {his} mind to build {a_thing}.",
        "{He} had [no tools|no plan|only a bent nail and a piece of string], but {he} had time.",
        "The first try [fell apart|looked like a potato|rolled away and was never seen again].",
        "The second one [exploded a little|was far too small|only worked upside down].",
        "\"[May I help|Would you like a hand]?\" asked {a_pal}, who had been watching [from a "
        "branch|over the fence|for "
        "days].",
        "Together they [measured|hammered|thought], and {pal} noticed that [one piece was "
        "missing|they had been "
        "holding the plan the wrong way round].",
        "And the third time, {thing} [worked|was finished|stood there and shone]. Everyone {at2} "
        "came to look.",
        "\"Who made this?\" they asked. \"We did,\" said {hero}, and [{pal} turned quite "
        "red|never had two words sounded "
        "so good].",
    ],
    "wish": [  # a wish
        "One evening {hero} found {a_thing} that [glowed a little|hummed very softly|felt warm "
        "to the touch].",
        "When {he} [touched|lifted|rubbed] it, a voice said, \"You have one wish. [Choose "
        "well|Take your time].\"",
        "{Hero} thought of [gold|a palace|a lifetime of cake]. {He} thought about it [all "
        "night|for three days].",
        "Meanwhile {a_pal} [fell ill|had lost everything in the flood|sat alone and hungry] on "
        "the other side of "
        "{place}.",
        "When {hero} heard of it, {he} did not have to think any longer. \"I wish that {pal} is "
        "well,\" {he} said.",
        "{Thing} [flickered once and went dark|sighed and fell silent|turned cold]. But [a "
        "moment later|the next "
        "morning] {pal} stood at the door with [a basket of bread|open arms|a bunch of wild "
        "flowers].",
        "\"What did you wish for?\" asked {pal}. \"[Company|This],\" said {hero}.",
    ],
    "fog": [  # lost in the fog
        "One day a white fog rolled in, so thick that {hero} could not see {his} own feet.",
        "Somewhere out there {a_pal} [was calling|had gone for a walk|was late for supper].",
        "{Hero} took {a_thing} and [went out|stepped into the white|followed the sound].",
        "{He} [knocked on it|swung it|held it up high] again and again, so that [one could hear "
        "it from afar|a small "
        "echo went through the fog].",
        "For a long time there was [no answer|only silence]. Then, [very faint|quite near], came "
        "a voice: \"[I am over "
        "here|Here I am]!\"",
        "A moment later they bumped into each other, [nose to nose|and both fell over].",
        "\"I heard {thing},\" said {pal}, \"and [I just walked towards it|I knew it could only "
        "be you].\"",
        "Arm in arm they went back to {place}, and [the fog did not seem so thick any more|there "
        "was hot soup].",
    ],
    "sleepless": [  # cannot sleep
        "One night {hero} could not sleep. {He} counted [sheep|stars|the ticks of the clock], "
        "but it did not help.",
        "So {he} got up and [walked around|went for a little walk] {at2}, where everything was "
        "[silver|still|blue with "
        "moonlight].",
        "[Beside the path|On a low wall|Under a crooked tree] lay {a_thing}, and next to it sat "
        "{a_pal}, wide awake as "
        "well.",
        "\"You cannot sleep either?\" asked {hero}. \"[Not a wink|Never when the moon is "
        "full],\" said {pal}.",
        "They sat side by side and looked at {thing}, and {pal} told [a story without an end|of "
        "faraway lands|how it had "
        "come there].",
        "The voice was so [soft|slow|warm] that {hero_s} eyes grew heavy.",
        "When {he} woke up, it was morning, {thing} lay [beside {him}|under {his} head], and [a "
        "blanket of leaves|a small "
        "note that said \"sleep well\"] lay on top.",
    ],
    "mishap": [  # a mishap
        "It all began when {hero} got stuck in {a_thing}. [Do not ask how.|It can happen to "
        "anyone.|{He} never "
        "explained it.]",
        "{He} pulled. {He} pushed. {He} [hopped around in circles|rolled down a hill|sang, "
        "because that sometimes helps].",
        "{A_pal} came by and [stared|blinked twice|dropped a sandwich]. \"Is that a new fashion?\"",
        "\"[Very funny|Stop laughing],\" said {hero}. \"Please help me out.\"",
        "So {pal} pulled, and [three geese|a postman|half the neighbours] pulled behind {pal}, "
        "until there was a loud "
        "[pop|plop|bang].",
        "Everybody flew backwards, [right into a pile of hay|straight into the duck pond|over a "
        "fence].",
        "The next day, half of the folk {at2} wore {a_thing_again} as well. It had become the "
        "latest fashion.",
    ],
    "riddle": [  # a letter with a riddle
        "One morning a letter came for {hero}. \"[Look for|Find] {a_thing},\" it said, \"and you "
        "will find a friend.\" There "
        "was no name on it.",
        "{Hero} [read it twice|turned it over|held it against the light] and began to search "
        "{at2}.",
        "{He} looked [where nobody ever looked|behind every door|between roots and stones], and "
        "asked {a_pal} for help.",
        "[All day long|For two days] they searched together. They [got lost|laughed a lot|shared "
        "their last apple], and "
        "learned each other's favourite songs.",
        "At dusk they found it: {thing}, [tied to a post|in plain sight|on top of a little tower "
        "of stones].",
        "\"But where is the friend?\" asked {hero}, and looked around. {Pal} [began to "
        "laugh|grinned from ear to ear].",
        "\"[I wrote the letter|I never was good at saying hello],\" said {pal}. \"[It seemed "
        "easier than knocking|So I wrote "
        "it down instead].\"",
    ],
    "seed": [  # something grows
        "{Hero} had been given a seed, and nobody could say what would grow from it.",
        "{He} planted it {at2}, put {a_thing} beside it [as a marker|for company|so that birds "
        "would stay away], and waited.",
        "[Day after day|Week after week] nothing happened. \"[Give it up|There is nothing "
        "there],\" [said the neighbours|people told {him}].",
        "Only {a_pal} [stayed|sat down beside {him}] and said, \"[Good things are slow|It is "
        "only getting ready|I will wait with you].\"",
        "They [watered it every morning|sang to it|told it stories], and {pal} leaned against "
        "{thing} and [dozed|hummed].",
        "And one [morning|evening] there it was: [a green tip, no bigger than a fingernail|two "
        "small leaves].",
        "By summer a [tall tree|great bush] stood there, full of [yellow fruit|white "
        "blossoms|sweet berries], with {thing} in its shade.",
        "\"[We did nothing but wait|It did it all by itself],\" said {hero}. \"[Waiting together "
        "is a lot|No, it had us],\" said {pal}.",
    ],
    "party": [  # a feast to which nobody comes, at first
        "{Hero} wanted to give a party {at2}. {He} wrote [twelve|a hundred|seven] invitations "
        "and hung up {a_thing} for everyone to see.",
        "But when the hour came, [nobody did|the chairs stayed empty|only the wind came in].",
        "{Hero} [sighed and began to clear the table|blew out the candles one by one|ate one "
        "small biscuit]. Then there was a knock.",
        "It was {a_pal}, with the invitation in one hand. \"[I am late|I ran all the way]! It "
        "says tomorrow, but I could not wait.\"",
        "\"Tomorrow?\" {Hero} looked at the invitation and [burst out laughing|went quite red]. "
        "{He} had written down the wrong day!",
        "So the two of them had a party of their own and [danced around {thing}|ate the smaller "
        "cake|played until midnight].",
        "And the next day [everyone came|the whole street came], and there was a second party, "
        "[louder than the first|with {thing} in the middle].",
        "But {hero} always liked the first one best.",
    ],
    "goodbye": [  # a farewell
        "All summer long, {hero} and {a_pal} had [played|walked|dreamed] {at2}, [and the days "
        "had flown by|from morning until dusk].",
        "Now the leaves were falling, and {pal} had to go away, [far to the south|across the "
        "sea|to a new home].",
        "\"[Will you forget me|Who will I talk to]?\" asked {hero}. {Pal} [did not know what to "
        "say|swallowed hard].",
        "On the last evening, {pal} brought {a_thing}. \"[Keep it for me|It is yours "
        "now|Whenever you look at it, I will think of you].\"",
        "They [held each other for a long time|sat close together and said little], and in the "
        "morning {pal} was gone.",
        "{Hero} put {thing} [by the window|where the light falls|next to {his} bed], and [some "
        "evenings {he} told it about the day|it helped a little].",
        "Then, one day in spring, there was a knock, [three times, the way only one person "
        "knocks|soft and well known].",
        "\"You still have it,\" said {pal}, and {hero} [could only nod|laughed and cried at once].",
    ],
    "show": [  # a shy one on the stage
        "There was going to be a show {at2}, and everybody was to do something.",
        "{Hero} could do one thing really well: play with {a_thing}, [so that it was a joy to "
        "watch|as nobody else could]. But only when {he} {was} alone.",
        "\"[I can't|My knees are jelly|Everybody will look at me],\" {he} said to {a_pal}.",
        "\"[Then look only at me|Pretend that there is nobody but me|I will sit in the first "
        "row],\" said {pal}.",
        "When {his} turn came, it was so quiet that one could hear [a pin drop|a mouse breathe]. "
        "{Hero} looked at {pal}, and {pal} [winked|smiled].",
        "And {hero} began, first [slowly|with trembling hands], then faster, until {thing} "
        "seemed to [dance by itself|fly].",
        "Nobody moved. Then {pal} [clapped|jumped up and cheered], and [the whole "
        "place|everyone] with {pal}.",
        "\"I forgot that the others were there,\" whispered {hero}. \"[So did I|I know],\" said "
        "{pal}.",
    ],
    "winter": [  # helping each other through the cold
        "That winter was so cold that even the [clocks|rivers|shadows] froze {at2}.",
        "{Hero} sat at home by a small fire, with {a_thing} and one last [potato|pot of "
        "soup|loaf of bread].",
        "Late in the evening there was a scratching at the door. Outside stood {a_pal}, [white "
        "with snow|shaking all over].",
        "\"[Come in, come in|Quick, come to the fire],\" said {hero}, and cut the last bit of "
        "food in two.",
        "When the fire went low, {hero} looked at {thing}. \"[We could burn it|It would keep us "
        "warm for an hour],\" {he} said, with a heavy heart.",
        "\"Never,\" said {pal}. \"[We have a blanket and we have stories|Let us sit closer "
        "together instead].\"",
        "So they told each other [everything they knew|of warm places] until the sun came up and "
        "[ice dripped from the roof|the first thaw began].",
        "Nobody remembers that winter as a cold one. [{Thing} still stands in its place|Not "
        "those two], and the door is never locked.",
    ],
    "teach": [  # learning something
        "{Hero} had never learned to use {a_thing}, although [everybody else could|{he} had "
        "often watched others].",
        "{He} tried it alone [behind the house|at night|in the farthest corner {at2}], and [it "
        "went wrong every time|it only made things worse].",
        "\"You hold it upside down,\" said a voice. It was {a_pal}. {Hero} [wanted to sink into "
        "the ground|felt {his} ears go hot].",
        "But {pal} did not laugh. \"[I needed a whole year|I broke three of them before I could "
        "do it]. Shall I show you?\"",
        "From then on they practised [every evening|after supper]. [One step forward, two steps "
        "back.|Some days went well, and some did not.]",
        "And on the [tenth|hundredth] day, {hero} took {thing}, [closed {his} eyes|took a "
        "breath], and it simply [worked|went right].",
        "\"[You see|Look at you],\" said {pal} [proudly|softly].",
        "The next week {hero} saw [a little mouse|a small child] in tears over such "
        "{a_thing_again}. \"[I needed a whole year|I know how that is],\" {he} said. \"Shall I "
        "show you?\"",
    ],
    "treasure": [  # a treasure is not what it seems
        "[In an old book|Under a loose board|Inside a bottle], {hero} found a map, with a red "
        "cross somewhere {at2}.",
        "\"A treasure!\" {he} whispered, and [ran to fetch a spade|could not sleep all night].",
        "On the way {he} met {a_pal}. \"[I have half of a map, too|I know that spot],\" said "
        "{pal}, \"[shall we share|we had better go together]?\"",
        "They [dug until the stars came out|climbed, crawled and dug], and at last there was a "
        "clank.",
        "In the chest lay no gold at all, only {a_thing} and a note: \"[To whoever finds "
        "this|For the brave ones]: I had the best days of my life with it.\"",
        "They looked at each other. Then {pal} [tried {thing} out|picked {thing} up], and [both "
        "of them began to laugh|soon they forgot the time].",
        "They [used it all summer|came back every day], and it was worth more than [gold|a crown].",
        "In the autumn they put {thing} back into the chest, with a second note, and [drew a new "
        "map|hid the map for somebody else].",
    ],
}
