-- Generations that no node may read, because their leader had to stop.
CREATE TABLE IF NOT EXISTS stops (
	projection TEXT NOT NULL,
	generation INTEGER NOT NULL,
	PRIMARY KEY (projection, generation)
);

-- The position of each generation and its search index, written by the leader.
CREATE TABLE IF NOT EXISTS reached (
	projection TEXT NOT NULL,
	generation INTEGER NOT NULL,
	position   BIGINT NOT NULL,
	PRIMARY KEY (projection, generation)
);

-- The elements of a JSON array, as in SQLite.
CREATE OR REPLACE FUNCTION json_each(list TEXT) RETURNS TABLE (value TEXT) LANGUAGE sql IMMUTABLE AS
	$$ SELECT jsonb_array_elements_text(list::jsonb) $$;
