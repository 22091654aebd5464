-- The types in binary form, as COPY BINARY and drivers send them: what is read is what was written.
CREATE EXTENSION pg_dedup;
CREATE EXTENSION pg_dedup_papers;
SELECT hamming_ball_send(hamming_ball(-2, 8)), hamming_ball_send(hamming_ball(0, -1));
CREATE TABLE sent (id int, ball hamming_ball, filter bloom);
INSERT INTO sent VALUES (1, hamming_ball(-7970365395035577973, 8), bloom_add(bloom_new(100, 0.01), 'water')),
    (2, hamming_ball(1, -1), bloom_sized(64, 2, 'bkdr+ap')), (3, NULL, NULL);
CREATE TABLE received (LIKE sent);
-- Files of the server's directory, by programs of the server.
COPY sent TO PROGRAM 'cat >binary.copy' (FORMAT binary);
COPY received FROM PROGRAM 'cat binary.copy' (FORMAT binary);
SELECT count(*) AS equal FROM sent JOIN received USING (id)
WHERE sent.ball::text IS NOT DISTINCT FROM received.ball::text AND sent.filter::text IS NOT DISTINCT FROM received.filter::text;
SELECT bloom_contains(filter, 'water') FROM received WHERE id = 1;
-- Damaged: too short, and no filter.
CREATE TABLE damaged (raw bytea);
INSERT INTO damaged VALUES ('\x0001');
COPY damaged TO PROGRAM 'cat >binary.copy' (FORMAT binary);
CREATE TABLE ball (ball hamming_ball);
CREATE TABLE filter (filter bloom);
COPY ball FROM PROGRAM 'cat binary.copy' (FORMAT binary);
COPY filter FROM PROGRAM 'cat binary.copy' (FORMAT binary);
COPY (SELECT) TO PROGRAM 'cat > /dev/null; rm binary.copy';
DROP TABLE sent, received, damaged, ball, filter;
DROP EXTENSION pg_dedup_papers, pg_dedup;
