#!/usr/bin/env python3
"""pg_dedup in SQLAlchemy 2: a generated column, the index, a constraint, queries.

    pip install sqlalchemy 'psycopg[binary]'
    python examples/orm_sqlalchemy.py [URL]      # default: postgresql+psycopg://, the database of PGHOST, PGUSER …

Works in a schema of its own, which it drops.
"""
import sys

from sqlalchemy import BigInteger, Computed, Index, Integer, MetaData, Table, Text, cast, create_engine, func, inspect, select, text
from sqlalchemy.dialects.postgresql import JSONB, ExcludeConstraint
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column


class Base(DeclarativeBase):
    metadata = MetaData(schema="orm_sqlalchemy")


class Ticket(Base):
    __tablename__ = "ticket"
    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    body: Mapped[str] = mapped_column(Text)
    fp: Mapped[int | None] = mapped_column(BigInteger, Computed("simhash(body, '{\"tokens\": \"words\"}')", persisted=True))
    __table_args__ = (Index("ticket_fp", "fp", postgresql_using="banding"),)


class Posted(Base):
    """Within 3 bits of another row: refused."""
    __tablename__ = "posted"
    id: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    body: Mapped[str] = mapped_column(Text)
    fp: Mapped[int | None] = mapped_column(BigInteger, Computed("simhash(body)", persisted=True))
    __table_args__ = (ExcludeConstraint((text("hamming_ball(fp, 3)"), "=~"), using="banding", name="posted_near"),)


def simhash(content):
    """The recipe is jsonb: as a string it would be sent as varchar, for which there is no simhash."""
    return func.simhash(content, cast({"tokens": "words"}, JSONB), type_=BigInteger)


def near(column, content, distance):
    """WHERE near_dup(column, simhash('…'), distance), which the index serves."""
    return func.near_dup(column, simhash(content), distance)


engine = create_engine(sys.argv[1] if len(sys.argv) > 1 else "postgresql+psycopg://")
with engine.begin() as connection:
    connection.execute(text("CREATE EXTENSION IF NOT EXISTS pg_dedup"))
    connection.execute(text("DROP SCHEMA IF EXISTS orm_sqlalchemy CASCADE"))
    connection.execute(text("CREATE SCHEMA orm_sqlalchemy"))
Base.metadata.create_all(engine)

with Session(engine) as session:
    session.add_all([
        Ticket(id=1, body="There has been no water in our building in Harbour Street since Monday morning. Please send somebody."),
        Ticket(id=2, body="There has been no water in our building in Harbour Street since Monday morning! Please do send somebody"),
        Ticket(id=3, body="The street lamp in front of the school has been broken for a month."),
        Posted(id=1, body="The street lamp in front of the school has been broken for a month."),
    ])
    session.commit()

    asked = "No water in our building in Harbour Street since Monday morning: please send somebody."
    distance = Ticket.fp.op("<~>", return_type=Integer)(simhash(asked)).label("distance")
    print("near:", session.execute(select(Ticket.id, distance).where(near(Ticket.fp, asked, 16)).order_by(distance)).all())
    print("nearest:", session.scalars(select(Ticket.id).order_by(distance).limit(1)).one())

    session.add(Posted(id=2, body="The street lamp in front of the school has been broken for a month!"))
    try:
        session.commit()
        raise SystemExit("the constraint let a copy through")
    except IntegrityError as error:
        print("constraint:", error.orig.diag.constraint_name)
        session.rollback()

with engine.begin() as connection:
    connection.execute(text("CALL dedup_into('orm_sqlalchemy.ticket_groups', 'orm_sqlalchemy.ticket')"))
    print("groups:", connection.execute(text("SELECT id, keeper FROM orm_sqlalchemy.ticket_groups ORDER BY id")).all())

# Introspection, as Alembic does it, reads the index and the column back.
inspector = inspect(engine)
[index] = inspector.get_indexes("ticket", schema="orm_sqlalchemy")
[fp] = [column for column in inspector.get_columns("ticket", schema="orm_sqlalchemy") if column["name"] == "fp"]
print("introspection:", index["dialect_options"]["postgresql_using"], fp["computed"]["persisted"])
reflected = MetaData()
Table("ticket", reflected, autoload_with=engine, schema="orm_sqlalchemy")
reflected.drop_all(engine)
reflected.create_all(engine)
print("made anew from what was read")
with engine.begin() as connection:
    connection.execute(text("DROP SCHEMA orm_sqlalchemy CASCADE"))
