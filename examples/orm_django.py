#!/usr/bin/env python3
"""pg_dedup in Django 5: a generated field, the index, a constraint, queries, a migration.

    pip install django 'psycopg[binary]'
    python examples/orm_django.py                # in the database that PGHOST, PGUSER, PGDATABASE … name

Makes two tables, and drops them.
"""
import os
from contextlib import suppress

import django
from django.conf import settings

settings.configure(
    INSTALLED_APPS=["django.contrib.postgres"], USE_TZ=True, DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    DATABASES={"default": {
        "ENGINE": "django.db.backends.postgresql", "NAME": os.environ.get("PGDATABASE", "postgres"), "USER": os.environ.get("PGUSER", ""),
        "HOST": os.environ.get("PGHOST", ""), "PORT": os.environ.get("PGPORT", ""), "PASSWORD": os.environ.get("PGPASSWORD", "")}})
django.setup()

from django.contrib.postgres.constraints import ExclusionConstraint  # noqa: E402
from django.contrib.postgres.indexes import PostgresIndex  # noqa: E402
from django.db import IntegrityError, connection, models  # noqa: E402
from django.db.migrations.autodetector import MigrationAutodetector  # noqa: E402
from django.db.migrations.graph import MigrationGraph  # noqa: E402
from django.db.migrations.questioner import MigrationQuestioner  # noqa: E402
from django.db.migrations.state import ModelState, ProjectState  # noqa: E402
from django.db.models import F, Func, Value  # noqa: E402


class SimHash(Func):
    function = "simhash"
    output_field = models.BigIntegerField()


class Distance(Func):
    """a <~> b"""
    template, arg_joiner = "(%(expressions)s)", " <~> "
    output_field = models.IntegerField()


class NearDup(Func):
    """near_dup(a, b, distance), which the index serves."""
    function = "near_dup"
    output_field = models.BooleanField()


class BandingIndex(PostgresIndex):
    suffix = "banding"


class NearExclusion(ExclusionConstraint):
    """Django accepts GiST and SP-GiST only."""

    def __init__(self, *, index_type="banding", **kwargs):
        super().__init__(index_type="GiST", **kwargs)
        self.index_type = index_type


class Ticket(models.Model):
    body = models.TextField()
    fp = models.GeneratedField(expression=SimHash("body"), output_field=models.BigIntegerField(null=True), db_persist=True)

    class Meta:
        app_label, db_table = "desk", "orm_django_ticket"
        indexes = [BandingIndex(fields=["fp"], name="orm_django_ticket_fp")]


class Posted(models.Model):
    """Within 3 bits of another row: refused."""
    body = models.TextField()
    fp = models.GeneratedField(expression=SimHash("body"), output_field=models.BigIntegerField(null=True), db_persist=True)

    class Meta:
        app_label, db_table = "desk", "orm_django_posted"
        constraints = [NearExclusion(name="orm_django_near", expressions=[(Func("fp", Value(3), function="hamming_ball"), "=~")])]


def makemigrations(state):
    """What makemigrations finds: how the models differ from a state."""
    app = ProjectState()
    for model in (Ticket, Posted):
        app.add_model(ModelState.from_model(model))
    return MigrationAutodetector(state, app, MigrationQuestioner({"ask_initial": True})).changes(MigrationGraph()).get("desk", [])


[migration] = makemigrations(ProjectState())
with connection.cursor() as cursor:
    cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_dedup")
    cursor.execute("DROP TABLE IF EXISTS orm_django_ticket, orm_django_posted")
with connection.schema_editor() as editor:
    state = migration.apply(ProjectState(), editor)
print("migration:", ", ".join(type(operation).__name__ for operation in migration.operations))
assert not makemigrations(state), "a second makemigrations finds changes"

Ticket.objects.bulk_create([
    Ticket(body="我们小区从上周一开始停水，到今天已经五天了，物业说是水管爆裂，但一直没有人来修，请尽快派人处理。"),
    Ticket(body="学校门口的路灯坏了一个多月，晚上接孩子很不安全，打了几次电话都没有回音，希望尽快修复。")])
asked = SimHash(Value("我们小区从上周一开始停水，到今天已经六天了，物业说是水管爆裂，一直没有人来修，请尽快派人处理！"))
near = Ticket.objects.filter(NearDup(F("fp"), asked, Value(10))).annotate(distance=Distance(F("fp"), asked)).order_by("distance")
print("near:", list(near.values_list("id", "distance")))

Posted.objects.create(body="路灯坏了一个多月，晚上接孩子很不安全")
with suppress(IntegrityError):
    Posted.objects.create(body="路灯坏了一个多月,晚上接孩子很不安全!")
    raise SystemExit("the constraint let a copy through")
print("constraint: refused")

# inspectdb reads the tables without stumbling over the index.
with connection.cursor() as cursor:
    found = connection.introspection.get_constraints(cursor, "orm_django_ticket")
print("introspection:", found["orm_django_ticket_fp"]["type"])
with connection.schema_editor() as editor:
    for model in (Ticket, Posted):
        editor.delete_model(model)
