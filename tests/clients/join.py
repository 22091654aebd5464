"""Pairs within a distance by keys, in plain SQL, in DuckDB or Spark: join.py ENGINE DISTANCE DIR reads DIR/key.csv and
writes DIR/ENGINE.csv. DuckDB also writes DIR/key.parquet, which Spark reads."""
import csv
import sys

engine, distance, folder = sys.argv[1:]
PAIRS = f"""SELECT DISTINCT x.id AS a, y.id AS b FROM keys x JOIN keys y ON x.key = y.key
            WHERE x.id < y.id AND bit_count(xor(x.fp, y.fp)) <= {distance}"""

if engine == "duckdb":
    import duckdb

    base = duckdb.connect()
    base.execute(f"CREATE TABLE keys AS FROM read_csv('{folder}/key.csv', columns = {{'key': 'BIGINT', 'id': 'BIGINT', 'fp': 'BIGINT'}}, header = true)")
    base.execute(f"COPY keys TO '{folder}/key.parquet' (FORMAT parquet)")
    rows = base.execute(PAIRS).fetchall()
else:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "4").getOrCreate()
    spark.read.parquet(f"{folder}/key.parquet").createOrReplaceTempView("keys")
    # Spark has ^ for xor.
    rows = [tuple(row) for row in spark.sql(PAIRS.replace("xor(x.fp, y.fp)", "x.fp ^ y.fp")).collect()]
    spark.stop()
with open(f"{folder}/{engine}.csv", "w", newline="") as out:
    csv.writer(out, lineterminator="\n").writerows(rows)
