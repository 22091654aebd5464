#!/usr/bin/env python3
"""The fingerprint and its keys in another language than the extension's: what docs/internals/specification.md says, in
Python's standard library alone. Recipes of characters, and of words, shingles or words and characters where the normal
form is ASCII: other scripts need the extension's segmentation. What is not here is refused, by ValueError.

    echo '{"text": "Street lamp is out", "recipe": {"tokens": "chars", "n": 2}}' | examples/reference.py

reads one JSON object a line and prints the fingerprint as SQL's bigint, or null. {"fp": …, "distance": 3, "blocks": 5}
prints the keys of near_dup_bands instead.
"""
import itertools
import json
import math
import sys
import unicodedata

MASK = (1 << 64) - 1
K0, K1, K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


# CityHash64 1.1.
def rotate(x, by):
    return (x >> by | x << (64 - by)) & MASK


def shift_mix(x):
    return x ^ x >> 47


def swap(x):
    return int.from_bytes((x & MASK).to_bytes(8, "little"), "big")


def mix(u, v, factor=0x9DDFEA08EB382D69):
    a = shift_mix((u ^ v) * factor & MASK)
    b = shift_mix((v ^ a) * factor & MASK)
    return b * factor & MASK


def city64(s):
    n = len(s)

    def at(i, size=8):
        i = i + n if i < 0 else i
        return int.from_bytes(s[i : i + size], "little")

    def weak(i, a, b):
        w, x, y, z = at(i), at(i + 8), at(i + 16), at(i + 24)
        a = (a + w) & MASK
        b = rotate((b + a + z) & MASK, 21)
        c = a
        a = (a + x + y) & MASK
        b = (b + rotate(a, 44)) & MASK
        return (a + z) & MASK, (b + c) & MASK

    factor = (K2 + 2 * n) & MASK
    if n == 0:
        return K2
    if n < 4:
        y, z = s[0] + (s[n // 2] << 8), n + (s[-1] << 2)
        return shift_mix(y * K2 & MASK ^ z * K0 & MASK) * K2 & MASK
    if n < 8:
        return mix(n + (at(0, 4) << 3), at(-4, 4), factor)
    if n <= 16:
        a, b = (at(0) + K2) & MASK, at(-8)
        c = (rotate(b, 37) * factor + a) & MASK
        d = (rotate(a, 25) + b) * factor & MASK
        return mix(c, d, factor)
    if n <= 32:
        a, b = at(0) * K1 & MASK, at(8)
        c, d = at(-8) * factor & MASK, at(-16) * K2 & MASK
        u = rotate((a + b) & MASK, 43) + rotate(c, 30) + d
        return mix(u & MASK, (a + rotate((b + K2) & MASK, 18) + c) & MASK, factor)
    if n <= 64:
        a, b, c, d = at(0) * K2 & MASK, at(8), at(-24), at(-32)
        e, f, g, h = at(16) * K2 & MASK, at(24) * 9 & MASK, at(-8), at(-16) * factor & MASK
        u = rotate((a + g) & MASK, 43) + (rotate(b, 30) + c) * 9
        v = ((a + g) & MASK ^ d) + f + 1
        w = swap((u + v) * factor) + h
        x = rotate((e + f) & MASK, 42) + c
        y = (swap((v + w) * factor) + g) * factor
        z = e + f + c
        a = swap((x + z) * factor + y) + b
        b = shift_mix(((z + a) * factor + d + h) & MASK) * factor
        return (b + x) & MASK
    x, y, z = at(-40), (at(-16) + at(-56)) & MASK, mix((at(-48) + n) & MASK, at(-24))
    v, w = weak(n - 64, n, z), weak(n - 32, y + K1, x)
    x = (x * K1 + at(0)) & MASK
    for i in range(0, (n - 1) // 64 * 64, 64):
        x = rotate((x + y + v[0] + at(i + 8)) & MASK, 37) * K1 & MASK
        y = rotate((y + v[1] + at(i + 48)) & MASK, 42) * K1 & MASK
        x ^= w[1]
        y = (y + v[0] + at(i + 40)) & MASK
        z = rotate((z + w[0]) & MASK, 33) * K1 & MASK
        v = weak(i, v[1] * K1, x + w[0])
        w = weak(i + 32, z + w[1], y + at(i + 16))
        z, x = x, z
    return mix((mix(v[0], w[0]) + shift_mix(y) * K1 + z) & MASK, (mix(v[1], w[1]) + x) & MASK)


# The normal form.
SPACED, SPACELESS, SEPARATOR, NOTHING, UNKNOWN = range(5)
SPACELESS_RANGES = [
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x323AF), (0xF900, 0xFAFF), (0x3005, 0x3007), (0x3021, 0x3029),
    (0x3041, 0x30FF), (0x3105, 0x312F), (0x31A0, 0x31BF), (0x31F0, 0x31FF), (0x0E00, 0x0EFF), (0x1000, 0x109F),
    (0x1780, 0x17FF), (0x0F00, 0x0FFF), (0xA000, 0xA48F),
]  # fmt: skip
SEPARATOR_RANGES = [
    (0x3000, 0x3003), (0x3008, 0x3020), (0x3030, 0x3030), (0x2000, 0x200A), (0x2010, 0x2017), (0x201A, 0x2029),
    (0x202F, 0x205F), (0x80, 0xA9), (0xAB, 0xAC), (0xAE, 0xB1), (0xB6, 0xB7),
]  # fmt: skip
NOTHING_RANGES = [
    (0x2018, 0x2019), (0xAD, 0xAD), (0x61C, 0x61C), (0x115F, 0x1160), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F),
    (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xE0100, 0xE013F),
]  # fmt: skip


def within(c, ranges):
    return any(first <= ord(c) <= last for first, last in ranges)


def classify(c):
    """The class of a character, and what it becomes."""
    if 0xFF01 <= ord(c) <= 0xFF5E:
        c = chr(ord(c) - 0xFF01 + 0x21)
    if ord(c) < 0x80:
        return (SPACED, c.lower()) if c.isalnum() else (NOTHING if c == "'" else SEPARATOR, c)
    if 0x4E00 <= ord(c) <= 0x9FFF or 0x3400 <= ord(c) <= 0x4DBF:
        return SPACELESS, c
    for kind, ranges in ((NOTHING, NOTHING_RANGES), (SEPARATOR, SEPARATOR_RANGES)):
        if within(c, ranges):
            return kind, c
    return UNKNOWN, c


def classify_folded(c):
    kind, c = classify(c)
    if kind != UNKNOWN:
        return kind, c
    if unicodedata.category(c)[0] in "LNM" or within(c, [(0x1F150, 0x1F169), (0x1F170, 0x1F189)]):
        return (SPACELESS if within(c, SPACELESS_RANGES) else SPACED), c
    return SEPARATOR, c


def fold(c):
    """A character without case: what its capitals are in small letters."""
    return c if c == "ı" else "".join(each.lower() for each in c.lower().upper())


def normalize(text):
    out, gap, spaced, i = [], False, False, 0

    def push(kind, c):
        nonlocal gap, spaced
        if kind in (SPACED, SPACELESS):
            if kind == SPACED and gap and spaced:
                out.append(" ")
            out.append(c)
            gap, spaced = False, kind == SPACED
        elif kind == SEPARATOR:
            gap = True

    while i < len(text):
        kind, c = classify(text[i])
        if kind != UNKNOWN:
            push(kind, c)
            i += 1
            continue
        end = i
        while end < len(text) and classify(text[end])[0] == UNKNOWN:
            end += 1
        run = text[i:end]
        # A mark belongs to the letter before it.
        if unicodedata.category(run[0])[0] == "M" and not gap and out:
            run = out.pop() + run
            if out and out[-1] == " ":
                out.pop()
                gap = spaced = True
            else:
                spaced = bool(out) and not within(out[-1], SPACELESS_RANGES)
        folded = "".join(map(fold, unicodedata.normalize("NFKC", run)))
        for c in unicodedata.normalize("NFC", folded):
            push(*classify_folded(c))
        i = end
    normal = "".join(out)
    # Marks that have come side by side have an order of their own.
    return normal if normal == text else normalize(normal)


# Recipes.
UNIT, LARGEST = 1 << 20, 1 << 61
SIZES = {"words+chars": 2, "chars": 3, "words": 1, "shingles": 3}
SCHEMES = {"tf": float, "log": lambda tf: 1 + math.log(tf), "one": lambda tf: 1.0}


def check(right, message):
    if not right:
        raise ValueError(message)


def units(weight):
    """A weight in steps of 2^-20: the nearest, halves upwards, no positive one below a step."""
    whole = math.floor(weight * UNIT)
    return min(max(whole + (weight * UNIT - whole >= 0.5), 1), LARGEST) if weight > 0 else 0


def given(name, weight):
    """A weight that a recipe says, rounded."""
    number = isinstance(weight, (int, float)) and not isinstance(weight, bool)
    check(number and 0 <= weight <= 1_000_000, f'"{name}": {weight!r} is not a weight from 0 to 1000000')
    return units(weight) / UNIT


def read(recipe):
    """The parts of a recipe: tokens, lengths, scheme, factor, terms, stop."""
    check(isinstance(recipe, dict), "a recipe is an object")
    check(recipe.get("terms", {}) is not None, '"terms": null is not an object')
    recipe = {key: value for key, value in recipe.items() if value is not None}
    kind, scheme = recipe.pop("tokens", "words+chars"), recipe.pop("weight", "tf")
    check(isinstance(kind, str) and kind in SIZES, f'"tokens": {kind!r} is not known')
    sizes = recipe.pop("n", SIZES[kind])
    sizes = sizes if isinstance(sizes, list) else [sizes]
    check(all(type(n) is int and 1 <= n <= 64 for n in sizes), '"n": not 1 to 64')
    check(sizes and len(set(sizes)) == len(sizes), '"n": empty, or one length twice')
    factor = given("factor", recipe.pop("factor", 1))
    if not isinstance(scheme, str):
        factor, scheme = given("weight", given("weight", scheme) * factor), "tf"
    check(scheme in SCHEMES, f'"weight": {scheme!r} is not here')
    terms, own = {}, recipe.pop("terms", {})
    check(isinstance(own, dict), '"terms": not an object')
    for term, weight in own.items():
        weight = given(f"terms.{term}", weight)
        check(terms.setdefault(normalize(term), weight) == weight, f'"terms": two weights of {normalize(term)!r}')
    stop = recipe.pop("stop", False)
    stop = [] if stop is False else stop
    check(isinstance(stop, list) and all(isinstance(word, str) for word in stop), '"stop": only a list of words is here')
    check(recipe.pop("hash", "city64") == "city64", '"hash": only city64 is here')
    check(recipe.pop("simplify", False) is False, '"simplify" is not here')
    check(isinstance(recipe.pop("hmm", False), bool), '"hmm": not a boolean')  # It changes no word of ASCII.
    check(not recipe, f"not here: {', '.join(recipe)}")
    return kind, sizes, scheme, factor, terms, {normalize(word) for word in stop}


# Features and their weights.
PIECE = 65536


def words(normal):
    check(normal.isascii(), "this recipe cuts words: take the extension's fingerprint")
    found = []
    while normal:
        end = len(normal)
        if end > PIECE:
            space = normal.rfind(" ", 0, PIECE)
            end = space if space > PIECE // 2 else PIECE
        found += normal[:end].split()
        normal = normal[end:]
    return found


def runs(parts, sizes, joined):
    for n in sizes:
        if 0 < len(parts) < n:
            yield joined.join(parts)
        for i in range(len(parts) - n + 1):
            yield joined.join(parts[i : i + n])


def tokens(text, kind, sizes):
    normal = normalize(text)
    if kind == "shingles":
        yield from runs(words(normal), sizes, " ")
    if kind in ("words", "words+chars"):
        yield from words(normal)
    if kind in ("chars", "words+chars"):
        yield from runs(normal.replace(" ", ""), sizes, "")


def simhash(text, recipe):
    kind, sizes, scheme, factor, terms, stop = read(recipe)
    counts = {}
    for token in tokens(text, kind, sizes):
        if token not in stop:
            counts[token] = counts.get(token, 0) + 1
    total, ones = 0, [0] * 64
    for token, count in counts.items():
        hashed, weight = city64(token.encode()), units(SCHEMES[scheme](count) * factor * terms.get(token, 1.0))
        total += weight
        for bit in range(64):
            ones[bit] += weight * (hashed >> bit & 1)
    if total == 0:
        return None
    return signed(sum(1 << bit for bit in range(64) if 2 * ones[bit] > total))


def signed(x):
    return x - (1 << 64) if x >> 63 else x


def bands(fp, distance=3, blocks=None):
    check(0 <= distance <= 63, f"distance {distance} is out of range")
    fp, blocks = fp & MASK, distance + 1 if blocks is None else blocks
    check(distance < blocks <= 64, f"{blocks} blocks are out of range")
    kept, count = blocks - distance, math.comb(blocks, distance)
    check(count <= 10_000, f"{count} keys a fingerprint are too many")
    edges = [64 - 64 * i // blocks for i in range(blocks + 1)]
    longest = kept * (64 // blocks) + min(kept, 64 % blocks)
    check(longest + (count - 1).bit_length() <= 64, f"keys of {longest} bits and their numbers do not fit in 64 bits")
    keys = []
    for number, chosen in enumerate(itertools.combinations(range(blocks), kept)):
        key = 0
        for i in chosen:
            width = edges[i] - edges[i + 1]
            key = key << width | fp >> edges[i + 1] & ((1 << width) - 1)
        keys.append(signed((number << longest | key) & MASK))
    return keys


if __name__ == "__main__":
    for line in sys.stdin:
        asked = json.loads(line)
        if "fp" in asked:
            print(json.dumps(bands(asked["fp"], asked.get("distance", 3), asked.get("blocks"))))
        else:
            print(json.dumps(simhash(asked["text"], asked["recipe"])))
