-- A function of SQLite, and two of sqlite-vec. PostgreSQL inlines all of them.
CREATE FUNCTION unhex(digits TEXT) RETURNS BYTEA LANGUAGE sql IMMUTABLE AS
	$$ SELECT decode(digits, 'hex') $$;
CREATE FUNCTION vec_bit(bits BYTEA) RETURNS BIT VARYING LANGUAGE sql IMMUTABLE AS
	$$ SELECT ('x' || encode(bits, 'hex'))::bit varying $$;
CREATE FUNCTION vec_bit(bits BIT VARYING) RETURNS BIT VARYING LANGUAGE sql IMMUTABLE AS
	$$ SELECT bits $$;
CREATE FUNCTION vec_distance_hamming(a BIT VARYING, b BIT VARYING) RETURNS BIGINT LANGUAGE sql IMMUTABLE AS
	$$ SELECT bit_count(a # b) $$;

-- The signs as bits. They are converted once, because a search reads all of them.
ALTER TABLE signs ADD COLUMN code BIT VARYING GENERATED ALWAYS AS (('x' || encode(bits, 'hex'))::bit varying) STORED;
CREATE VIEW comparable AS SELECT row, document, code FROM signs;

-- The number of passages from which on an approximate index of the vectors is made. To compare
-- fewer takes no longer than a few milliseconds.
CREATE FUNCTION passages_to_index() RETURNS BIGINT LANGUAGE sql IMMUTABLE AS $$ SELECT 100000 $$;

-- One row, if there is such an index, which needs the extension pgvector.
CREATE VIEW approximate AS SELECT 'pgvector ' || extversion AS engine FROM pg_extension
	WHERE extname = 'vector' AND to_regclass('directions_nearest') IS NOT NULL;

-- A row with a statement that makes the index, if there are enough passages and none yet. The
-- statement returns the row of approximate, or none if the server does not have the
-- extension, or the role may not install or use it.
CREATE VIEW lacking AS SELECT 'SELECT engine FROM index_vectors()' AS statement
	WHERE (SELECT coalesce(max(row), 0) FROM vectors) >= passages_to_index() AND NOT EXISTS (SELECT FROM approximate);

-- Makes a table of the vectors in the type of the extension, with an index. Triggers keep it
-- up to date. Names of the extension are written with its schema, which is not in the search
-- path. The index is made without parallel workers, because these need shared memory, of
-- which containers have little.
CREATE FUNCTION index_vectors() RETURNS SETOF approximate LANGUAGE plpgsql SET max_parallel_maintenance_workers = 0 AS $make$
DECLARE
	place TEXT;
	size BIGINT;
BEGIN
	IF NOT EXISTS (SELECT FROM pg_extension WHERE extname = 'vector') AND EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') THEN
		BEGIN
			CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;
		EXCEPTION WHEN insufficient_privilege OR invalid_schema_name OR unique_violation THEN
			NULL; -- all vectors are compared
		END;
	END IF;
	-- Older versions cannot continue a search behind a filter. The extension cannot index
	-- longer vectors.
	SELECT quote_ident(n.nspname) INTO place FROM pg_extension x JOIN pg_namespace n ON n.oid = x.extnamespace
		WHERE x.extname = 'vector' AND string_to_array(substring(x.extversion FROM '^\d+\.\d+'), '.')::int[] >= '{0,8}' AND has_schema_privilege(n.oid, 'USAGE');
	SELECT dimensions INTO size FROM embedder WHERE dimensions <= 4000;
	IF place IS NULL OR size IS NULL THEN
		RETURN;
	END IF;
	PERFORM set_config('maintenance_work_mem', greatest(setting::bigint, 512 * 1024) || 'kB', true) FROM pg_settings WHERE name = 'maintenance_work_mem';
	EXECUTE format($def$
		DROP TABLE IF EXISTS directions;
		CREATE TABLE directions (row BIGINT PRIMARY KEY, document BIGINT NOT NULL, direction %2$s.halfvec(%1$s) NOT NULL);
		CREATE OR REPLACE FUNCTION direction_of(vector BYTEA) RETURNS %2$s.halfvec LANGUAGE sql IMMUTABLE AS
			'SELECT array_agg(b - 256 * (b >> 7) ORDER BY i)::%2$s.halfvec FROM generate_series(0, length(vector) - 1) i, get_byte(vector, i) b';
		INSERT INTO directions SELECT row, document, direction_of(vector) FROM vectors WHERE length(vector) = %1$s;
		CREATE INDEX directions_nearest ON directions USING hnsw (direction %2$s.halfvec_cosine_ops);
		ANALYZE directions;

		CREATE OR REPLACE FUNCTION add_directions() RETURNS trigger LANGUAGE plpgsql AS $body$
		BEGIN
			IF to_regclass('directions_nearest') IS NOT NULL THEN
				INSERT INTO directions SELECT row, document, direction_of(vector) FROM added WHERE length(vector) = %1$s;
			END IF;
			RETURN NULL;
		END $body$;
		CREATE OR REPLACE TRIGGER add_directions AFTER INSERT ON vectors REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION add_directions();
		CREATE OR REPLACE FUNCTION remove_directions() RETURNS trigger LANGUAGE plpgsql AS $body$
		BEGIN
			DELETE FROM directions WHERE row IN (SELECT row FROM removed);
			RETURN NULL;
		END $body$;
		CREATE OR REPLACE TRIGGER remove_directions AFTER DELETE ON vectors REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION remove_directions();

		-- The rows whose vectors are nearest to that of a query, of all documents if documents
		-- is NULL. It returns none if they are less than a quarter of all: then most of what the
		-- index finds has to be left out. The statements are planned with their parameters.
		CREATE OR REPLACE FUNCTION nearest_by_index(query TEXT, amount BIGINT, documents BIGINT[]) RETURNS TABLE ("row" BIGINT) LANGUAGE plpgsql STABLE
			SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off
			SET hnsw.ef_search = 400 SET hnsw.iterative_scan = relaxed_order AS $body$
		BEGIN
			IF documents IS NULL THEN
				RETURN QUERY EXECUTE 'SELECT d.row FROM directions d ORDER BY d.direction OPERATOR(%2$s.<=>) $1::%2$s.halfvec(%1$s) LIMIT $2' USING query, amount;
			ELSIF cardinality(documents) * 4 >= (SELECT max(d.row) FROM documents d) THEN
				-- IS TRUE keeps the planner from a join, for which it would sort all rows.
				RETURN QUERY EXECUTE 'SELECT d.row FROM directions d WHERE (d.document IN (SELECT unnest($3))) IS TRUE
					ORDER BY d.direction OPERATOR(%2$s.<=>) $1::%2$s.halfvec(%1$s) LIMIT $2' USING query, amount, documents;
			END IF;
		END $body$ $def$, size, place);
	RETURN QUERY SELECT * FROM approximate;
END $make$;
