"""People in families, some of them twice: the table people of bench/compare/peers. The same seed gives the same rows."""

import datetime
import random

COLUMNS = ["first_name", "last_name", "street", "city", "postcode", "phone", "email", "born"]
GIVEN = (
    "Anna Ben Carla David Emma Felix Grace Hugo Iris Jonas Karin Leo Maria Nils Olga Paul Rosa Simon Tina Uwe Vera Walter Yvonne Adam Beth Clara "
    "Daniel Edith Frank Gloria Henry Ida Jack Kate Lucas Martha Noah Olivia Peter Ruth Sarah Thomas Ursula Victor Wendy Robert Elizabeth William "
    "Margaret Michael Katherine Andrew Susan Christopher Alexandra Philip Eleanor George Harriet Arthur Beatrice Oscar Matilda"
).split()
SHORT = {"Robert": "Bob", "Elizabeth": "Liz", "William": "Will", "Margaret": "Meg", "Michael": "Mike", "Katherine": "Kate", "Andrew": "Andy",
         "Susan": "Sue", "Christopher": "Chris", "Alexandra": "Alex", "Philip": "Phil", "Eleanor": "Ella", "Daniel": "Dan", "Thomas": "Tom"}
HEADS = "B D F G H K L M N P R S T V W Sch Br Gr Kl St".split()
VOWELS = "a e i o u au ei".split()
TAILS = "lk hl ld ll mm nn nd ng rd rg rn rt ss st tt tz".split()
ENDS = ["", "", "er", "mann", "son", "berg", "ing", "feld", "ton", "ley"]
ROADS = "Mill Harbour Church Station Garden King Bridge Park School Chapel Market Castle Victoria Elm Oak Linden Meadow Hill River Queen".split()
WAYS = [("Street", "St."), ("Road", "Rd"), ("Avenue", "Ave."), ("Lane", "Ln"), ("Square", "Sq.")]
CITIES = [f"{first}{last}" for first in "Ash Birch Dover Grange Kestrel Lind New Nor Sut West".split() for last in "ford ham ton worth".split()]
MAILS = "example.com example.net example.org mail.example post.example".split()


def surname(rng):
    return rng.choice(HEADS) + rng.choice(VOWELS) + rng.choice(TAILS) + rng.choice(ENDS)


def household(rng):
    city = rng.randrange(len(CITIES))
    return {"street": f"{rng.randrange(1, 180)} {rng.choice(ROADS)} {rng.choice(WAYS)[0]}", "city": CITIES[city],
            "postcode": f"{city + 10}{rng.randrange(1000):03}", "phone": f"0{city + 201} {rng.randrange(10**6):06}"}


def member(rng, name, home, year):
    given = rng.choice(GIVEN)
    born = datetime.date(year, 1, 1) + datetime.timedelta(rng.randrange(365))
    mail = f"{given}.{name}{rng.choice(['', str(born.year % 100), str(rng.randrange(1000))])}@{rng.choice(MAILS)}".lower()
    phone = home["phone"] if rng.random() < 0.5 else f"07{rng.randrange(10**8):08}"
    return {"first_name": given, "last_name": name, **home, "phone": phone, "email": mail, "born": born.isoformat()}


def family(rng):
    """One to five people of an address: a couple, children, at times twins or a child with a parent's name."""
    name, home, year = surname(rng), household(rng), rng.randrange(1935, 2000)
    people = [member(rng, name, home, year)]
    if rng.random() < 0.55:
        people.append(member(rng, name if rng.random() < 0.7 else surname(rng), home, year + rng.randrange(-6, 7)))
    for _ in range(rng.choice((0, 0, 1, 2, 3)) if len(people) > 1 else 0):
        child = member(rng, name, home, min(year + rng.randrange(20, 38), 2020))
        if rng.random() < 0.05:
            child["first_name"] = people[0]["first_name"]
        elif rng.random() < 0.05 and len(people) > 2:
            child["born"] = people[-1]["born"]
        people.append(child)
    return people


def slip(word, rng):
    """A letter left out, doubled, exchanged or another one."""
    if len(word) < 3:
        return word
    at = rng.randrange(1, len(word) - 1)
    return (word[:at] + word[at + 1:], word[:at] + word[at] + word[at:], word[:at] + word[at + 1] + word[at] + word[at + 2:],
            word[:at] + rng.choice("aeinrst") + word[at + 1:])[rng.randrange(4)]


def again(person, rng):
    """The same person as somebody else wrote it down: one to three faults."""
    row = dict(person)
    for fault in rng.sample(range(10), rng.choice((1, 1, 2, 2, 3))):
        if fault < 2:
            key = ("first_name", "last_name")[fault]
            row[key] = slip(row[key], rng)
        elif fault == 2:
            row["first_name"] = SHORT.get(row["first_name"], row["first_name"][:1] + ".")
        elif fault == 3:
            row["first_name"], row["last_name"] = row["last_name"], row["first_name"]
        elif fault == 4:
            for long, short in WAYS:
                row["street"] = row["street"].replace(long, short)
        elif fault == 5:
            row[rng.choice(("phone", "email", "postcode", "born"))] = ""
        elif fault == 6:
            row["email"] = slip(row["email"], rng)
        elif fault == 7:
            row.update(household(rng))
        elif fault == 8:
            row["phone"] = row["phone"].replace(" ", "-")
        elif row["born"]:
            year, month, day = row["born"].split("-")
            row["born"] = f"{year}-{day}-{month}" if int(day) <= 12 else f"{int(year) + rng.choice((-1, 1, 10))}-{month}-{min(int(day), 28):02}"
    return row


def people(count, seed=1, share=0.16):
    """(number of the person, row) for each of so many rows: of this share of the people there are more, by which one row in six is an earlier person's again."""
    rng, rows, number = random.Random(seed), [], 0
    while len(rows) < count:
        for person in family(rng):
            copies = rng.choice((1, 1, 1, 2)) if rng.random() < share else 0
            rows.append((number, person))
            rows.extend((number, again(person, rng)) for _ in range(copies))
            number += 1
    # Copies do not stand beside what they repeat.
    del rows[count:]
    rng.shuffle(rows)
    return rows
