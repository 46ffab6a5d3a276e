-- Generations that no node may read, because their leader stopped at an event that it
-- could not apply.
CREATE TABLE IF NOT EXISTS stops (
	projection TEXT NOT NULL,
	generation INTEGER NOT NULL,
	PRIMARY KEY (projection, generation)
);

-- The checkpoint of each generation and of its search index, as written by the leader.
CREATE TABLE IF NOT EXISTS reached (
	projection TEXT NOT NULL,
	generation INTEGER NOT NULL,
	position   BIGINT NOT NULL,
	PRIMARY KEY (projection, generation)
);

-- The function json_each of SQLite, which returns the elements of a JSON array.
CREATE OR REPLACE FUNCTION json_each(list TEXT) RETURNS TABLE (value TEXT) LANGUAGE sql IMMUTABLE AS
	$$ SELECT jsonb_array_elements_text(list::jsonb) $$;
