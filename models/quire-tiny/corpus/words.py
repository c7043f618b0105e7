# SPDX-License-Identifier: Apache-2.0
"""Owns the word lists: everything a conversation can be about, before the split by hash."""


def _list(text: str) -> list[str]:
    """Words separated by blanks; '_' stands for a blank inside an entry."""
    return [word.replace("_", " ") for word in text.split()]


NAMES_F = _list("""
Ada Agnes Aisha Alba Alice Alma Amara Amelia Amy Ana Anna Anouk Astrid Audrey Aurora Ava Beatrice
Bella Berta Bianca Bridget Camille Carla Carmen Caroline Celia Chiara Clara Claire Daisy Dalia
Daphne Diana Dora Edith Elena Elif Elisa Ella Elsa Emilia Emma Erika Esther Eva Evelyn Fatima Fiona
Flora Frances Freya Frida Gemma Georgia Greta Hana Hannah Harriet Hazel Heidi Helen Hilda Ida Imani
Ines Ingrid Irene Iris Isabel Isla Ivy Jana Jane Jasmine Joanna Josie Julia June Karin Kate Keiko
Kirsten Lara Laura Layla Leah Leila Lena Lily Linda Lisa Lotte Louise Lucia Lucy Luna Lydia Mabel
Maja Margot Maria Marie Marta Martha Mary Matilda Maya Mei Mia Mila Mina Miriam Molly Mona Nadia
Naomi Nell Nina Noor Nora Olga Olive Olivia Paula Penny Petra Phoebe Pia Polly Priya Rachel Rita
Rosa
Rose Ruby Ruth Sabine Sally Samira Sara Selma Sofia Sonia Stella Susan Sylvia Tamara Tanya Tess Thea
Tilda Tina Uma Una Ursula Valerie Vera Victoria Viola Wanda Willa Yara Yasmin Yuki Zara Zoe
""")
NAMES_M = _list("""
Aaron Adam Adrian Ahmed Aiden Albert Alex Ali Amir Andre Anton Arlo Arthur Axel Basil Ben Bernard
Boris Bruno Caleb Carl Casper Cedric Charlie Chen Clement Colin Conrad Cyrus Dan Daniel Dario David
Dennis Diego Dylan Edgar Edwin Eli Elias Emil Enzo Eric Ernest Ethan Ezra Felix Finn Florian Frank
Fred Gabriel George Gilbert Gus Hamid Hans Harold Harry Hassan Hector Henry Hiro Hugo Ian Igor Isaac
Ivan Jack Jacob Jamal James Jan Jasper Jay Jens Joel John Jonas Jorge Josh Juan Julian Kai Karim
Karl
Kenji Kevin Klaus Kofi Lars Leo Leon Lewis Liam Louis Luca Lucas Luis Luke Magnus Malik Marco Mario
Marius Mark Martin Mateo Matthew Max Michael Miguel Milan Milo Mohamed Morris Nathan Ned Nico Nils
Noah Oleg Oliver Omar Oscar Otis Otto Owen Pablo Patrick Paul Pedro Percy Peter Philip Pierre Rafael
Raj Ralf Ravi Remy Ricardo Robin Roger Roland Roman Ron Rufus Ryan Sam Samuel Sanjay Sasha Sebastian
Simon Stefan Steve Sven Tariq Ted Theo Thomas Tim Tobias Tom Tomas Toby Tony Ulrich Umar Victor
Vincent Viktor Walter Wesley Wilbur William Winston Xavier Yann Yusuf Zach Zeno
""")
PET_NAMES = _list("""
Bandit Bean Biscuit Bramble Bubbles Buttons Caramel Chester Chip Cleo Coco Cookie Cosmo Crumpet Dash
Dotty Dumpling Fern Fluffy Freckles Fudge Gizmo Goose Honey Hopper Inky Jellybean Juniper Kiwi
Lucky Maple Marble Marmalade Mittens Mocha Moss Muffin Nacho Noodle Nugget Nutmeg Oreo Pancake
Patches Peaches Peanut Pebble Pepper Pickle Pip Pixel Popcorn Pretzel Puddles Pumpkin Rex Rocky
Rusty Scout Shadow Smudge Snickers Snowy Socks Sparky Spot Sprout Teddy Thimble Tinker Toffee
Truffle
Tuna Turbo Twiggy Waffles Whiskers Widget Wobble Ziggy
""")
PETS = _list("""
dog cat rabbit hamster parrot goldfish turtle pony canary ferret gecko lizard snake guinea_pig
budgie puppy kitten tortoise mouse chicken hen horse goat donkey iguana chinchilla cockatoo
""")
ANIMALS = _list("""
fox rabbit bear wolf owl mouse hedgehog badger otter squirrel deer sparrow raven robin turtle frog
toad snail bee ant beetle butterfly moth cricket spider cat dog goat sheep lamb cow horse donkey
pony pig duck goose swan hen rooster penguin seal whale dolphin octopus crab lobster starfish shark
salmon pelican seagull stork heron crane eagle hawk falcon parrot peacock pigeon dove magpie
woodpecker kingfisher swallow bat mole weasel marten beaver raccoon skunk moose elk reindeer bison
buffalo camel llama alpaca elephant giraffe zebra lion tiger leopard cheetah panther lynx hyena
monkey gorilla lemur sloth koala kangaroo wombat platypus panda meerkat mongoose armadillo anteater
porcupine chameleon gecko iguana lizard tortoise crocodile alligator hippo rhino walrus narwhal
jellyfish seahorse shrimp squid firefly dragonfly ladybird grasshopper caterpillar worm hamster
ferret chipmunk hare stoat shrew vole newt salamander flamingo toucan ostrich puffin albatross
jackal ibex yak ox mule puppy kitten gull crow jay wren finch
""")
PEOPLE = _list("""
baker farmer painter sailor fisherman gardener teacher librarian clockmaker watchmaker carpenter
blacksmith shoemaker tailor weaver potter musician violinist drummer dancer singer poet writer
postman nurse doctor pilot captain knight king queen prince princess wizard witch magician juggler
clown shepherd miller beekeeper cook chef waiter astronaut scientist inventor mechanic engineer
explorer hunter pirate mayor soldier guard traveller merchant lighthouse_keeper conductor
student pupil grandmother grandfather boy girl child twin orphan hermit monk diver archer
detective builder bricklayer plumber electrician barber butcher florist jeweller photographer
sculptor actor tinker cartographer astronomer nanny porter messenger ferryman woodcutter miner
apprentice scholar judge swimmer skater cyclist gondolier innkeeper
""")
FANTASY = _list("""
dragon robot ghost giant dwarf elf fairy goblin troll unicorn mermaid phoenix griffin gnome ogre
vampire werewolf monster alien snowman scarecrow puppet genie yeti pixie sprite golem centaur
kraken leprechaun imp sphinx nymph cyborg android mummy
""")
THINGS = _list("""
lantern key map clock watch compass telescope mirror book letter diary pencil brush violin flute
drum
guitar trumpet piano bell whistle umbrella hat scarf coat glove boot shoe sock button needle thread
ribbon basket bucket barrel bottle jar cup teapot kettle spoon fork plate bowl pan candle lamp torch
match rope ladder hammer saw shovel wheel cart wagon bicycle kite balloon boat raft canoe sail
anchor
net hook shell pearl pebble feather nut seed acorn apple pear pumpkin carrot turnip cake pie biscuit
loaf cookie sandwich pancake jam pillow blanket quilt cushion chair stool table bench box chest
trunk
drawer suitcase backpack purse coin crown ring necklace bracelet medal ribbon flag drum_kit puppet
doll
marble puzzle dice card ball skateboard sled scooter train tractor rocket engine spring magnet
battery
radio camera telephone typewriter lens crystal stone brick tile window door gate fence statue
fountain
painting poster stamp envelope scroll quill feather_duster broom mop sponge soap towel comb
hairbrush
toothbrush thimble spindle loom tapestry carpet curtain bandage potion wand cloak mask costume
shield
sword helmet bow arrow trophy banjo harp cello accordion tambourine harmonica xylophone ukulele
calendar notebook newspaper photograph postcard parcel ticket stopwatch hourglass sundial barometer
thermometer microscope spyglass cage nest hive beehive birdhouse flowerpot watering_can
wheelbarrow rake windmill waterwheel snow_globe music_box teacup saucer ladle whisk sieve
rolling_pin
waffle muffin pretzel dumpling lollipop marshmallow pickle cheese lemon peach melon coconut
cactus sunflower mushroom tulip daisy pinecone icicle snowball raincoat mitten slipper sandal
bowtie zipper pocket hammock tent parachute submarine wagon_wheel oar paddle lifebuoy buoy cork
""")
# place -> preposition that goes before "a place" / "the place"
_PLACES_BY_PREPOSITION: dict[str, str] = {
    "in": """forest village garden city castle cave desert valley bakery library kitchen attic
    cellar
    school meadow jungle swamp barn cottage tower palace museum theatre workshop park orchard
    vineyard
    greenhouse harbour town market hospital station hotel inn tavern temple monastery cathedral
    chapel
    treehouse tent igloo hut cabin mill stable circus zoo canyon lagoon marsh moor thicket glade
    wood hollow quarry mine factory laboratory observatory bookshop toyshop tearoom café courtyard
    cloister alley basement ballroom ruin labyrinth maze burrow warehouse submarine windmill
    schoolyard playground backyard pantry gallery studio arcade aquarium bazaar fortress dungeon
    canteen cafeteria bathhouse laundry parlour crypt grove copse bamboo_forest rainforest""",
    "on": """mountain hill island farm beach ship boat train bridge balcony rooftop glacier cliff
    volcano planet cloud mountaintop riverbank plateau prairie ferry raft pier peninsula dune
    tramway barge houseboat comet asteroid carousel playground_slide iceberg terrace""",
    "by": """river lake sea pond waterfall stream brook canal lighthouse fountain well creek shore
    fjord bay geyser reservoir estuary roadside hedge campfire millpond spring""",
    "at": """fair carnival railway_station crossroads campsite airport festival bus_stop port
    fairground marina racetrack playing_field farmyard allotment shipyard""",
}
PLACE_PREPOSITION: dict[str, str] = {
    place: preposition for preposition, text in _PLACES_BY_PREPOSITION.items() for place in _list(
        text)}
PLACES = list(PLACE_PREPOSITION)
# Places that exist once take "the" from the start.
UNIQUE_PLACES: list[tuple[str, str]] = [
    ("on the moon", "the moon"), ("in the sky", "the sky"), ("under the sea", "the sea"),
    ("in the mountains", "the mountains"), ("in space", "space"), ("in the snow", "the snow"),
    ("on Mars", "Mars"), ("in the woods", "the woods"), ("by the sea", "the sea"),
    ("at the north pole", "the north pole"), ("in the countryside", "the countryside")]
MOODS = _list("""
happy sad funny scary calm cosy exciting mysterious gentle dreamy spooky peaceful silly cheerful
hopeful lonely magical quiet strange warm romantic sleepy tender brave wild gloomy joyful
melancholic adventurous heartwarming playful eerie thoughtful merry serene wistful
""")
TOPICS = _list("""
friendship courage kindness patience luck hope trust curiosity winter summer autumn rain snow
birthdays music dreams time honesty sharing love autumn_leaves the_wind the_stars the_sea
learning_to_fly growing_up saying_sorry a_long_journey a_lost_toy a_secret a_promise bedtime
homework cooking gardening teamwork silence forgiveness holidays a_power_cut moving_house
""")
COLOURS = _list("""
red blue green yellow orange purple pink brown black white grey turquoise violet indigo crimson
scarlet teal maroon navy olive lavender magenta cyan gold silver beige ivory coral emerald ruby
mustard peach lilac mint ochre amber burgundy
""")
FOODS = _list("""
pizza pasta sushi soup curry bread rice cheese chocolate pancakes waffles noodles dumplings tacos
lasagne risotto paella falafel hummus porridge toast salad stew goulash chili burritos ramen
spaghetti gnocchi ravioli couscous kebab omelette quiche pierogi kimchi tofu popcorn cake cookies
cheesecake brownies tiramisu pudding yoghurt honey marmalade sandwiches burgers fries potatoes
tomatoes mushrooms lentils beans olives pickles nuts almonds walnuts ham salmon tuna shrimp chicken
meatballs sausages schnitzel croissants bagels pretzels muffins doughnuts gingerbread custard fudge
""")
FRUITS = _list("""
apples pears plums cherries strawberries raspberries blueberries blackberries grapes oranges lemons
bananas mangoes peaches apricots figs dates kiwis melons papayas pineapples pomegranates quinces
lychees limes tangerines gooseberries cranberries nectarines persimmons
""")
DRINKS = _list("""
tea coffee lemonade cocoa water milk juice cider ginger_beer lassi espresso cappuccino matcha kefir
smoothies soda tonic kombucha chai horchata ayran
""")
TOWNS = _list("""
Lisbon Porto Madrid Seville Valencia Paris Lyon Marseille Nantes London Leeds Bristol York Oxford
Bath Dublin Cork Galway Glasgow Edinburgh Cardiff Berlin Hamburg Munich Cologne Leipzig Dresden
Bremen Vienna Graz Salzburg Zurich Basel Geneva Bern Milan Turin Rome Naples Venice Florence Bologna
Palermo Athens Sofia Bucharest Budapest Prague Brno Warsaw Krakow Gdansk Vilnius Riga Tallinn
Helsinki Stockholm Gothenburg Oslo Bergen Copenhagen Aarhus Reykjavik Amsterdam Utrecht Rotterdam
Brussels Antwerp Ghent Bruges Luxembourg Boston Chicago Denver Seattle Portland Austin Houston
Toronto Montreal Vancouver Ottawa Halifax Lima Quito Bogota Santiago Cairo Tunis Nairobi Accra
Lagos Dakar Mumbai Delhi Chennai Kolkata Tokyo Osaka Kyoto Nagoya Seoul Busan Taipei Hanoi Manila
Jakarta Sydney Perth Brisbane Auckland Wellington Istanbul Ankara Izmir Tbilisi Yerevan Baku Tehran
Beirut Amman Haifa Zagreb Ljubljana Sarajevo Belgrade Skopje Valletta
""")
JOBS = _list("""
teacher nurse doctor baker carpenter plumber electrician farmer gardener librarian cook chef waiter
pilot engineer programmer designer architect painter musician writer journalist photographer dentist
vet lawyer accountant mechanic driver translator scientist chemist biologist historian firefighter
potter tailor shoemaker florist beekeeper barber salesman cashier postman student actor dancer
singer surgeon pharmacist optician geologist astronomer economist editor judge welder roofer
bricklayer fisherman lifeguard coach goldsmith
""")
HOBBIES = _list("""
chess painting swimming running hiking knitting reading cycling gardening cooking baking dancing
singing climbing fishing sailing skiing skating surfing drawing pottery photography birdwatching
yoga juggling origami embroidery woodworking archery fencing rowing kayaking camping stargazing
crosswords karaoke bowling badminton tennis football basketball volleyball hockey rugby cricket
golf judo karate boxing gymnastics beekeeping calligraphy sewing crochet
""")
INSTRUMENTS = _list("""
piano guitar violin flute drums trumpet cello clarinet saxophone harp accordion banjo ukulele oboe
bassoon trombone tuba viola harmonica mandolin organ xylophone bagpipes lute
""")
FLOWERS = _list("""
roses tulips daisies sunflowers lilies orchids violets daffodils poppies irises peonies lavender
snowdrops marigolds carnations hyacinths crocuses dahlias asters bluebells jasmine
""")
SUBJECTS = _list("""
biology chemistry physics history geography maths music art law medicine economics philosophy
literature psychology geology astronomy engineering architecture linguistics archaeology botany
""")
LANGUAGES = _list("""
English German French Spanish Italian Portuguese Dutch Danish Swedish Norwegian Finnish Polish Czech
Hungarian Greek Turkish Arabic Hebrew Persian Hindi Bengali Tamil Mandarin Japanese Korean Thai
Vietnamese Swahili Russian Ukrainian Romanian Bulgarian Welsh Irish Basque Catalan
""")
RELATIONS_F = _list("sister mother daughter wife aunt grandmother niece girlfriend mum flatmate")
RELATIONS_M = _list("brother father son husband uncle grandfather nephew boyfriend dad roommate")
RELATIONS_N = _list("""
neighbour best_friend cousin teacher boss colleague friend doctor landlord coach partner dentist
""")
SEASONS = _list("spring summer autumn winter")
MONTHS = _list("""
January February March April May June July August September October November December
""")
DAYS = _list("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")
SPOTS = _list("""
drawer kitchen cupboard garage car basement attic bathroom bedroom hallway garden office fridge
wardrobe shed bag box suitcase cellar bookcase balcony closet desk
""")
BELONGINGS = _list("""
keys glasses umbrella phone wallet passport book hat scarf gloves notebook charger bike laptop watch
jacket ring camera ticket headphones bag suitcase helmet guitar boots towel
""")
HAVE_COLOUR = _list("""
bike car house door umbrella hat coat scarf sofa bag bicycle kitchen tent boat notebook jacket
rucksack teapot blanket chair curtain carpet mug phone helmet van desk fence
""")
# Where characters feel at home; "sea" and the like are places of words.PLACES.
HOMES: list[tuple[str, str]] = [
    ("whale dolphin octopus crab lobster starfish shark seahorse squid shrimp jellyfish seal "
     "narwhal walrus mermaid kraken pelican seagull puffin",
     "sea lagoon bay island harbour shore iceberg fjord"),
    ("pirate sailor captain fisherman ferryman diver",
     "ship harbour island boat lagoon port shore"),
    ("king queen prince princess knight wizard dragon guard juggler jackal",
     "castle tower palace fortress mountain cave"),
    ("fox wolf bear deer owl badger squirrel hedgehog elk moose raven fairy elf gnome troll "
     "unicorn", "forest glade thicket meadow hollow hill"),
    ("frog toad duck goose swan otter beaver newt salamander heron stork crane",
     "pond lake river marsh stream brook"),
    ("cow horse pig sheep goat donkey hen rooster lamb pony mule ox scarecrow farmer",
     "farm barn meadow stable farmyard village"),
    ("lion elephant giraffe zebra hyena rhino hippo cheetah leopard camel ostrich",
     "prairie desert river zoo plateau"),
    ("monkey gorilla parrot tiger sloth panther lemur toucan chameleon",
     "jungle treehouse zoo island canyon"),
    ("robot android cyborg alien astronaut scientist inventor engineer",
     "laboratory planet workshop observatory comet factory"),
    ("cat dog puppy kitten hamster mouse girl boy child grandmother grandfather",
     "cottage attic garden kitchen village town"),
    ("ghost vampire mummy witch werewolf bat spider", "castle ruin attic crypt cellar tower"),
    ("baker cook chef waiter innkeeper butcher", "bakery kitchen inn town market"),
    ("musician violinist drummer dancer singer actor clown magician",
     "theatre circus town market fair"),
    ("teacher student pupil librarian writer poet scholar", "school library attic bookshop city"),
    ("penguin reindeer yeti snowman", "iceberg glacier mountain hut"),
    ("lighthouse keeper", "island cliff shore"),
]
