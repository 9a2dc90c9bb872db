"""The fact tables. The generator and the evaluation both read these and nothing else."""

CAPITALS = """France Paris|Italy Rome|Spain Madrid|Germany Berlin|Portugal Lisbon|England London|Scotland Edinburgh
Wales Cardiff|Ireland Dublin|Norway Oslo|Sweden Stockholm|Finland Helsinki|Denmark Copenhagen|Iceland Reykjavik
Poland Warsaw|Austria Vienna|Hungary Budapest|Greece Athens|Turkey Ankara|Russia Moscow|Ukraine Kyiv|Romania Bucharest
Bulgaria Sofia|Serbia Belgrade|Croatia Zagreb|Belgium Brussels|Netherlands Amsterdam|Switzerland Bern|China Beijing
Japan Tokyo|India Delhi|Thailand Bangkok|Vietnam Hanoi|Egypt Cairo|Kenya Nairobi|Morocco Rabat|Canada Ottawa
Mexico Mexico-City|Brazil Brasilia|Argentina Buenos-Aires|Chile Santiago|Peru Lima|Cuba Havana|Colombia Bogota
Australia Canberra|New-Zealand Wellington|Iran Tehran|Iraq Baghdad|Nigeria Abuja|Ghana Accra"""

CONTINENTS = {
    "Europe": "France Italy Spain Germany Portugal Norway Sweden Finland Poland Austria Greece Ireland Belgium Hungary",
    "Asia": "China Japan India Thailand Vietnam Iran Iraq",
    "Africa": "Egypt Kenya Morocco Nigeria Ghana",
    "North America": "Canada Mexico Cuba",
    "South America": "Brazil Argentina Chile Peru Colombia",
}

OPPOSITES = """hot cold|big small|up down|happy sad|fast slow|day night|old new|open closed|full empty|hard soft|wet dry
long short|light dark|high low|rich poor|left right|in out|good bad|loud quiet|early late|clean dirty|strong weak
thick thin|near far|begin end|push pull|win lose|first last|black white|true false|yes no|heavy light-weight|wide narrow
sweet sour|rough smooth|sharp blunt|deep shallow|awake asleep|love hate|buy sell|give take|come go|always never
everything nothing|above below|before after|inside outside|front back|easy difficult|safe dangerous|brave afraid
young aged|north south|east west|start stop|remember forget|laugh cry|find hide|friend enemy|top bottom|warm cool"""

# animal, sound, young, legs, what it is, what it eats
ANIMALS = """dog|barks|puppy|4|mammal|meat
cat|meows|kitten|4|mammal|fish
cow|moos|calf|4|mammal|grass
sheep|bleats|lamb|4|mammal|grass
horse|neighs|foal|4|mammal|hay
pig|oinks|piglet|4|mammal|vegetables
lion|roars|cub|4|mammal|meat
wolf|howls|pup|4|mammal|meat
duck|quacks|duckling|2|bird|water plants
hen|clucks|chick|2|bird|seeds
goose|honks|gosling|2|bird|grass
owl|hoots|owlet|2|bird|mice
frog|croaks|tadpole|4|amphibian|flies
bee|buzzes|larva|6|insect|nectar
snake|hisses|snakelet|0|reptile|mice
mouse|squeaks|pinkie|4|mammal|cheese
donkey|brays|foal|4|mammal|hay
elephant|trumpets|calf|4|mammal|leaves
bear|growls|cub|4|mammal|honey
goat|bleats|kid|4|mammal|grass"""

THING_COLOURS = """grass green|snow white|the sky blue|a banana yellow|a strawberry red|coal black|an orange orange
a lemon yellow|blood red|milk white|a carrot orange|a leaf green|the sun yellow|chocolate brown|a tomato red|salt white
a crow black|a frog green|a polar bear white|an elephant grey|a flamingo pink|a cherry red|the sea blue|gold yellow
a pumpkin orange|a fire engine red|a cucumber green|a swan white|the night sky black|a plum purple|soil brown
sugar white"""

MIXES = """red blue purple|red yellow orange|blue yellow green|black white grey|red white pink|red green brown
blue white light blue"""

DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()
MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
NUMBERS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty""".split()

CATEGORIES = {
    "fruit": "apple banana pear cherry plum orange lemon grape peach strawberry",
    "vegetable": "carrot potato onion cabbage pea bean cucumber leek",
    "colour": "red blue green yellow white black orange purple pink brown",
    "animal": "dog cat cow horse lion bear wolf sheep goat mouse",
    "bird": "duck owl crow swan goose robin eagle hen",
    "tool": "hammer saw spade drill wrench rake",
    "flower": "rose tulip daisy lily poppy violet",
    "drink": "water milk tea coffee juice lemonade",
    "piece of clothing": "shirt coat hat sock scarf shoe",
    "vehicle": "car bus train bicycle boat lorry",
    "piece of furniture": "table chair bed sofa shelf desk",
    "musical instrument": "piano guitar drum flute violin trumpet",
}

# question; the same question said otherwise; the answer; the word that must be in it
GENERAL = """What do bees make?|Which food comes from bees?|Bees make honey.|honey
How many days are in a week?|How many days does a week have?|A week has seven days.|seven
How many months are in a year?|How many months does a year have?|A year has twelve months.|twelve
How many hours are in a day?|How many hours does a day have?|A day has 24 hours.|24
How many minutes are in an hour?|How many minutes does an hour have?|An hour has 60 minutes.|60
How many seconds are in a minute?|How many seconds does a minute have?|A minute has 60 seconds.|60
How many days are in a year?|How many days does a year have?|A year has 365 days.|365
How many legs does a spider have?|What number of legs does a spider have?|A spider has eight legs.|eight
How many wheels does a bicycle have?|What number of wheels does a bicycle have?|A bicycle has two wheels.|two
How many wheels does a car have?|What number of wheels does a car have?|A car has four wheels.|four
How many sides does a triangle have?|What number of sides does a triangle have?|A triangle has three sides.|three
How many sides does a square have?|What number of sides does a square have?|A square has four sides.|four
How many fingers are on one hand?|How many fingers does a hand have?|A hand has five fingers.|five
What is ice made of?|What is ice?|Ice is frozen water.|water
What is bread made from?|What do bakers make bread from?|Bread is made from flour.|flour
What is cheese made from?|What do people make cheese from?|Cheese is made from milk.|milk
What is paper made from?|What do people make paper from?|Paper is made from wood.|wood
Where does the sun rise?|In which direction does the sun rise?|The sun rises in the east.|east
Where does the sun set?|In which direction does the sun set?|The sun sets in the west.|west
What do fish live in?|Where do fish live?|Fish live in water.|water
What do plants need to grow?|What does a plant need?|Plants need light and water.|light
Why is the sky blue?|What makes the sky blue?|The sky is blue because air scatters blue light the most.|scatters
Why do we sleep?|Why do people sleep?|We sleep so that body and mind can rest.|rest
Why does ice float?|Why does ice float on water?|Ice floats because it is lighter than water.|lighter
What is the largest planet?|Which planet is the largest?|Jupiter is the largest planet.|Jupiter
Which planet do we live on?|What is the name of our planet?|We live on Earth.|Earth
What is the red planet?|Which planet is called the red planet?|Mars is called the red planet.|Mars
What goes around the Earth?|What moves around the Earth?|The moon goes around the Earth.|moon
What is the largest ocean?|Which ocean is the largest?|The Pacific is the largest ocean.|Pacific
What is the largest animal?|Which animal is the largest?|The blue whale is the largest animal.|whale
What is the fastest land animal?|Which land animal is the fastest?|The cheetah is the fastest land animal.|cheetah
What is the tallest animal?|Which animal is the tallest?|The giraffe is the tallest animal.|giraffe
What is the highest mountain?|Which mountain is the highest?|Mount Everest is the highest mountain.|Everest
What is the season after winter?|Which season comes after winter?|Spring comes after winter.|spring
What is the season after spring?|Which season comes after spring?|Summer comes after spring.|summer
What is the season after summer?|Which season comes after summer?|Autumn comes after summer.|autumn
What is the season after autumn?|Which season comes after autumn?|Winter comes after autumn.|winter
At what temperature does water boil?|When does water boil?|Water boils at 100 degrees Celsius.|100
At what temperature does water freeze?|When does water freeze?|Water freezes at 0 degrees Celsius.|0
How many letters are in the alphabet?|How many letters does the alphabet have?|The alphabet has 26 letters.|26
What is the first letter of the alphabet?|Which letter is first in the alphabet?|The first letter is A.|A
What is the last letter of the alphabet?|Which letter is last in the alphabet?|The last letter is Z.|Z
What do we see with?|Which part of the body do we see with?|We see with our eyes.|eyes
What do we hear with?|Which part of the body do we hear with?|We hear with our ears.|ears
What do we smell with?|Which part of the body do we smell with?|We smell with our nose.|nose
Who works in a school?|Who teaches children in a school?|A teacher works in a school.|teacher
Who puts out fires?|Who do we call when there is a fire?|Firefighters put out fires.|firefighters
Who bakes bread?|Which person bakes bread?|A baker bakes bread.|baker
Who helps sick people?|Who looks after sick people?|A doctor helps sick people.|doctor
Who grows food?|Who works on a farm?|A farmer grows food on a farm.|farmer
What do you use to cut paper?|Which tool cuts paper?|You cut paper with scissors.|scissors
What do you use to write?|What can I write with?|You write with a pen or a pencil.|pen
What keeps you dry in the rain?|What do people hold up in the rain?|An umbrella keeps you dry in the rain.|umbrella
What tells the time?|What do you use to tell the time?|A clock tells the time.|clock
What is a library?|What can you find in a library?|A library is a place with many books.|books
What is a computer?|What does a computer do?|A computer is a machine that works with data.|machine
What is rain?|What falls from the clouds?|Rain is water that falls from the clouds.|water
What is a tree?|What kind of thing is a tree?|A tree is a tall plant with a trunk, branches and leaves.|plant
What is the moon?|What kind of thing is the moon?|The moon is a ball of rock that goes around the Earth.|rock
What is the sun?|What kind of thing is the sun?|The sun is a star that gives us light and warmth.|star
What is a river?|What kind of thing is a river?|A river is water that flows to the sea.|water
What is a language model?|What does a language model do?|A language model predicts the next piece of a text.|predicts"""

# Real places whose capital the model is not taught: it must say so.
UNTAUGHT = """Bhutan Nepal Chad Mali Togo Benin Malta Cyprus Laos Oman Qatar Yemen Fiji Samoa Tonga Bolivia Paraguay
Uruguay Ecuador Panama Honduras Estonia Latvia Lithuania Moldova Albania Armenia Georgia Mongolia Angola Zambia Malawi
Uganda Rwanda Somalia Sudan Libya Tunisia Algeria Senegal Gambia Guinea""".split()
