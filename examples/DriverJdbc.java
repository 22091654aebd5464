// pg_dedup by JDBC: text and binary transfer, prepared statements, errors, dedup_into.
//
//     java -cp postgresql.jar examples/DriverJdbc.java jdbc:postgresql://127.0.0.1:5432/postgres USER [--pooled]
//
// --pooled: through a PgBouncer in transaction mode that knows no prepared statements. Works in a schema of its own, which it drops.
import java.sql.*;
import java.util.*;

public class DriverJdbc {
    static final String TEXT = "No water in house %d of Harbour Street since Monday morning, and nobody from the housing office answers the telephone. %s";

    static void check(boolean right, String what) {
        if (!right) throw new IllegalStateException(what);
    }

    static String failure(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
            return "none";
        } catch (SQLException e) {
            return e.getSQLState();
        }
    }

    public static void main(String[] args) throws Exception {
        boolean pooled = args.length > 2;
        // 0: never a named statement; 1: from the first use on; -1: and binary at once.
        for (String threshold : pooled ? List.of("0") : List.of("0", "1", "-1")) {
            Properties properties = new Properties();
            properties.setProperty("user", args[1]);
            properties.setProperty("prepareThreshold", threshold);
            try (Connection connection = DriverManager.getConnection(args[0], properties)) {
                run(connection);
            }
        }
        System.out.println("JDBC: the same rows in text and binary format" + (pooled ? ", through PgBouncer" : ""));
    }

    static void run(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("DROP SCHEMA IF EXISTS driver_jdbc CASCADE");
            statement.execute("CREATE EXTENSION IF NOT EXISTS pg_dedup");
            statement.execute("CREATE SCHEMA driver_jdbc");
            statement.execute("CREATE TABLE driver_jdbc.ticket (id bigint PRIMARY KEY, body text, fp bigint GENERATED ALWAYS AS (simhash(body)) STORED)");
        }
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO driver_jdbc.ticket (id, body) VALUES (?, ?)")) {
            for (int i = 0; i < 300; i++) {
                insert.setLong(1, i);
                insert.setString(2, String.format(TEXT, i / 3, "please ".repeat(i % 3)));
                insert.addBatch();
            }
            insert.executeBatch();
        }
        Map<Long, Long> shown = new TreeMap<>();
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE INDEX ON driver_jdbc.ticket USING banding (fp)");
            statement.execute("ANALYZE driver_jdbc.ticket");
            try (ResultSet rows = statement.executeQuery("SELECT id, fp::text FROM driver_jdbc.ticket")) {
                while (rows.next()) shown.put(rows.getLong(1), Long.parseLong(rows.getString(2)));
            }
        }
        for (String query : List.of("near_dup(fp, ?, ?)", "fp <~> ? <= ?", "fp <@ hamming_ball(?, ?)")) {
            try (PreparedStatement search = connection.prepareStatement("SELECT id, fp FROM driver_jdbc.ticket WHERE " + query)) {
                for (long id : List.of(0L, 7L, 299L, 0L, 7L, 299L)) {
                    long fp = shown.get(id);
                    search.setLong(1, fp);
                    search.setInt(2, 6);
                    Set<Long> found = new TreeSet<>(), near = new TreeSet<>();
                    try (ResultSet rows = search.executeQuery()) {
                        while (rows.next()) {
                            found.add(rows.getLong(1));
                            check(rows.getLong(2) == shown.get(rows.getLong(1)), "a fingerprint changed on its way");
                        }
                    }
                    shown.forEach((other, bits) -> {
                        if (Long.bitCount(fp ^ bits) <= 6) near.add(other);
                    });
                    check(found.equals(near), query + " found " + found + " instead of " + near);
                }
            }
        }
        check(Long.parseUnsignedLong("d1c4b2a59687f0e1", 16) < 0, "signed");
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.execute("SET LOCAL enable_seqscan = off");
            statement.execute("SET LOCAL pg_dedup.progress = 0");
        }
        try (PreparedStatement explain = connection.prepareStatement("EXPLAIN SELECT id FROM driver_jdbc.ticket WHERE near_dup(fp, ?, ?)")) {
            explain.setLong(1, shown.get(0L));
            explain.setInt(2, 6);
            StringBuilder plan = new StringBuilder();
            try (ResultSet rows = explain.executeQuery()) {
                while (rows.next()) plan.append(rows.getString(1));
            }
            check(plan.indexOf("hamming_ball") > 0, "the index is not used: " + plan);
        }
        connection.commit();
        // dedup_into is part of the transaction.
        try (PreparedStatement statement = connection.prepareStatement("CALL dedup_into(?, ?)")) {
            statement.setString(1, "driver_jdbc.grouped");
            statement.setString(2, "driver_jdbc.ticket");
            statement.execute();
        }
        connection.commit();
        connection.setAutoCommit(true);
        try (Statement statement = connection.createStatement()) {
            statement.execute("CREATE TRIGGER guard AFTER INSERT ON driver_jdbc.ticket FOR EACH ROW EXECUTE FUNCTION near_dup_guard('fp')");
            String copy = "INSERT INTO driver_jdbc.ticket (id, body) SELECT 1000, body FROM driver_jdbc.ticket WHERE id = 7";
            check(failure(connection, copy).equals("23P01"), "the guard let a copy in");
            statement.execute("DROP SCHEMA driver_jdbc CASCADE");
        }
    }
}
