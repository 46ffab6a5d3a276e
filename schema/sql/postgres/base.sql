-- Whoever reads the tables beside the process that writes them listens for how
-- far they are: "<schema> <position>".
CREATE FUNCTION tell_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_notify('annals_moved', TG_TABLE_SCHEMA || ' ' || NEW.position);
	RETURN NULL;
END $$;
CREATE TRIGGER moved AFTER UPDATE ON checkpoint FOR EACH ROW EXECUTE FUNCTION tell_moved();

-- What statements take from SQLite's words besides SQL: the elements of a list
-- that comes as JSON, and an element of a list within it. Both are written out
-- where they are used, so that the planner sees through them.
CREATE FUNCTION json_each(list TEXT) RETURNS TABLE (key BIGINT, value TEXT) LANGUAGE sql IMMUTABLE AS
	$$ SELECT e.place - 1, e.element FROM jsonb_array_elements_text(list::jsonb) WITH ORDINALITY AS e (element, place) $$;
CREATE FUNCTION json_element(list TEXT, place INTEGER) RETURNS TEXT LANGUAGE sql IMMUTABLE AS
	$$ SELECT list::jsonb ->> place $$;
CREATE OPERATOR ->> (LEFTARG = TEXT, RIGHTARG = INTEGER, FUNCTION = json_element);
