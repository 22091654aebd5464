#!/usr/bin/env python3
"""Finds copies of pictures by their perceptual hashes.

    pip install imagehash 'psycopg[binary]'
    python examples/image_hashes.py              # in the database that PGHOST, PGUSER, PGDATABASE … name

Makes 200 pictures and, of 50 of them, a smaller, a brighter and a recompressed copy; hashes all by pHash; finds the copies
through a banding index. The pictures stay in memory; the table is a temporary one.
"""
import io
import random

import imagehash
import psycopg
from PIL import Image, ImageDraw, ImageEnhance


def to_bigint(h):
    """A hash of 8 x 8 bits as PostgreSQL's bigint: the same bits, signed."""
    n = int(str(h), 16)
    return n - (1 << 64) if n >= 1 << 63 else n


def picture(seed):
    """Ellipses and boxes in random places and colours."""
    rnd = random.Random(seed)
    image = Image.new("RGB", (256, 256), tuple(rnd.randrange(256) for _ in range(3)))
    draw = ImageDraw.Draw(image)
    for _ in range(12):
        x, y = rnd.randrange(200), rnd.randrange(200)
        box = (x, y, x + rnd.randrange(20, 120), y + rnd.randrange(20, 120))
        rnd.choice((draw.ellipse, draw.rectangle))(box, fill=tuple(rnd.randrange(256) for _ in range(3)))
    return image


def recompressed(image):
    file = io.BytesIO()
    image.save(file, "JPEG", quality=40)
    return Image.open(file)


rows = []
for seed in range(200):
    image = picture(seed)
    rows.append((f"picture {seed}", seed, to_bigint(imagehash.phash(image))))
    if seed < 50:
        copies = {"smaller": image.resize((100, 100)), "brighter": ImageEnhance.Brightness(image).enhance(1.2), "recompressed": recompressed(image)}
        rows += [(f"picture {seed}, {how}", seed, to_bigint(imagehash.phash(copy))) for how, copy in copies.items()]

with psycopg.connect() as connection:
    connection.execute("CREATE EXTENSION IF NOT EXISTS pg_dedup")
    connection.execute("CREATE TEMPORARY TABLE picture (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text, original integer, phash bigint)")
    with connection.cursor() as cursor:
        cursor.executemany("INSERT INTO picture (name, original, phash) VALUES (%s, %s, %s)", rows)
    connection.execute("CREATE INDEX ON picture USING banding (phash)")
    connection.execute("ANALYZE picture")

    asked = to_bigint(imagehash.phash(picture(7).resize((64, 64))))
    print("Near a small copy of picture 7:")
    for name, distance in connection.execute(
            "SELECT name, phash <~> %(q)s::bigint AS distance FROM picture WHERE near_dup(phash, %(q)s::bigint, 10) ORDER BY distance, name", {"q": asked}):
        print(f"  {distance:2}  {name}")

    found, right = connection.execute("""
        SELECT count(*), count(*) FILTER (WHERE a.original = b.original)
        FROM picture a JOIN picture b ON near_dup(a.phash, b.phash, 10) AND a.id < b.id""").fetchone()
    true = 50 * 6
    print(f"Pairs within 10 bits: {found}, {right} of them copies of one picture, of {true} there are")
    if right < 0.9 * true or right < 0.9 * found:
        raise SystemExit("that is not what was expected")
