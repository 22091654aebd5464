#!/usr/bin/env python3
"""Finds copies of pictures by their perceptual hashes, of 64 bits (pHash) and 256 (PDQ), and says how many at which distance.

    pip install imagehash pdqhash 'psycopg[binary]'
    python examples/image_hashes.py              # in the database that PGHOST, PGUSER, PGDATABASE … name

Makes 300 pictures and eight copies of each. The index must find the pairs that numpy finds by comparing all with all. The
pictures stay in memory; the table is a temporary one.
"""
import io
import random

import imagehash
import numpy
import pdqhash
import psycopg
from PIL import Image, ImageDraw, ImageEnhance

PICTURES = 300


def picture(seed):
    """Clouds of all sizes, and ellipses and boxes in random places and colours."""
    rnd, noise = random.Random(seed), numpy.random.default_rng(seed)
    clouds = sum(numpy.asarray(Image.fromarray(noise.integers(0, 256, (size, size, 3), numpy.uint8)).resize((384, 384), Image.Resampling.BICUBIC), float) / n
                 for n, size in enumerate((3, 6, 24, 96), 1))
    image = Image.fromarray((clouds * 255 / clouds.max()).astype(numpy.uint8))
    draw = ImageDraw.Draw(image)
    for _ in range(8):
        x, y = rnd.randrange(-40, 340), rnd.randrange(-40, 340)
        box = (x, y, x + rnd.randrange(30, 180), y + rnd.randrange(30, 180))
        rnd.choice((draw.ellipse, draw.rectangle))(box, fill=tuple(rnd.randrange(256) for _ in range(3)))
    return image


def jpeg(image, quality):
    file = io.BytesIO()
    image.save(file, "JPEG", quality=quality)
    return Image.open(file)


def cropped(image, share):
    """Without so much of it at each edge."""
    edge = round(image.width * share)
    return image.crop((edge, edge, image.width - edge, image.height - edge))


def marked(image):
    image = image.convert("RGBA")
    mark = Image.new("RGBA", image.size)
    ImageDraw.Draw(mark).text((20, 160), "SAMPLE", fill=(255, 255, 255, 120), font_size=96)
    return Image.alpha_composite(image, mark).convert("RGB")


COPIES = {
    "resized to a third": lambda image: image.resize((128, 128)),
    "JPEG, quality 50": lambda image: jpeg(image, 50),
    "JPEG, quality 10": lambda image: jpeg(image, 10),
    "brighter by 30 %": lambda image: ImageEnhance.Brightness(image).enhance(1.3),
    "watermark": marked,
    "cropped by 1 %": lambda image: cropped(image, 0.01),
    "cropped by 3 %": lambda image: cropped(image, 0.03),
    "cropped by 8 %": lambda image: cropped(image, 0.08),
}
HASHES = {
    "phash": lambda image: imagehash.phash(image).hash.flatten(),
    "pdq": lambda image: pdqhash.compute(numpy.asarray(image.convert("RGB")))[0],
}
DISTANCES = {"phash": (0, 2, 4, 8, 10, 14), "pdq": (0, 8, 16, 31, 46, 60)}

images = []
for seed in range(PICTURES):
    image = picture(seed)
    images += [image, *(copy(image) for copy in COPIES.values())]
bits = {name: numpy.array([hashed(image) for image in images], numpy.uint8) for name, hashed in HASHES.items()}
count, group = len(images), 1 + len(COPIES)

with psycopg.connect() as connection:
    connection.execute("CREATE EXTENSION IF NOT EXISTS pg_dedup")
    connection.execute("CREATE TEMPORARY TABLE picture (id integer PRIMARY KEY, phash bit(64), pdq bit(256))")
    with connection.cursor() as cursor:
        text = {name: ["".join(map(str, row)) for row in rows] for name, rows in bits.items()}
        cursor.executemany("INSERT INTO picture VALUES (%s, %s::bit(64), %s::bit(256))", zip(range(count), text["phash"], text["pdq"]))
    connection.execute("CREATE INDEX picture_phash ON picture USING banding (phash)")
    connection.execute("CREATE INDEX picture_pdq ON picture USING banding (pdq)")
    connection.execute("ANALYZE picture")
    connection.execute("SET enable_seqscan = off")
    for name, distances in DISTANCES.items():
        # Of zeroes and ones the distance is what they sum up to less twice what they share.
        ones = bits[name].astype(numpy.float32)
        sums = ones.sum(1)
        all_pairs = (sums[:, None] + sums[None, :] - 2 * ones @ ones.T).round().astype(int)
        a, b = numpy.triu_indices(count, 1)
        between = all_pairs[a, b]
        print(f"{name + ', distance':22}" + "".join(f"{d:6}" for d in distances))
        of_copies = {what: all_pairs[numpy.arange(0, count, group), numpy.arange(at, count, group)] for at, what in enumerate(COPIES, 1)}
        for what, of in of_copies.items():
            print(f"{what:22}" + "".join(f"{(of <= d).mean():6.2f}" for d in distances))
        print(f"{'pairs of others':22}" + "".join(f"{((between <= d) & (a // group != b // group)).sum():6}" for d in distances) + "\n")
        for d in distances:
            query = f"SELECT a.id, b.id, a.{name} <-> b.{name} FROM picture a JOIN picture b ON near_dup(a.{name}, b.{name}, {d}) AND a.id < b.id"
            plan = "\n".join(line for line, in connection.execute("EXPLAIN " + query))
            found = set(connection.execute(query).fetchall())
            expected = {(int(x), int(y), int(distance)) for x, y, distance in zip(a[between <= d], b[between <= d], between[between <= d])}
            if found != expected or f"picture_{name}" not in plan:
                raise SystemExit(f"{name} within {d}: by the index {len(found)} pairs, by numpy {len(expected)}\n{plan}")
print("The index found the same pairs.")
