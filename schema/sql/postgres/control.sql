-- Generations that no node may trust, since whoever leads them could not go on.
CREATE TABLE IF NOT EXISTS stops (
	projection TEXT NOT NULL,
	generation INTEGER NOT NULL,
	PRIMARY KEY (projection, generation)
);

-- How far a generation is with its search index, as whoever leads it knows.
CREATE TABLE IF NOT EXISTS reached (
	projection TEXT NOT NULL,
	generation INTEGER NOT NULL,
	position   BIGINT NOT NULL,
	PRIMARY KEY (projection, generation)
);

-- The elements of a list that comes as JSON, by SQLite's name for it.
CREATE OR REPLACE FUNCTION json_each(list TEXT) RETURNS TABLE (value TEXT) LANGUAGE sql IMMUTABLE AS
	$$ SELECT jsonb_array_elements_text(list::jsonb) $$;
