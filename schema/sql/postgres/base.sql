-- Notifies followers of a new checkpoint with the text "<schema> <position>".
CREATE FUNCTION tell_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_notify('annals_moved', TG_TABLE_SCHEMA || ' ' || NEW.position);
	RETURN NULL;
END $$;
CREATE TRIGGER moved AFTER UPDATE ON checkpoint FOR EACH ROW EXECUTE FUNCTION tell_moved();

-- Two functions of SQLite that the statements of read models use: the elements of a
-- JSON array, and one element of a JSON array. PostgreSQL inlines both, so that the
-- planner can optimise the statements.
CREATE FUNCTION json_each(list TEXT) RETURNS TABLE (key BIGINT, value TEXT) LANGUAGE sql IMMUTABLE AS
	$$ SELECT e.place - 1, e.element FROM jsonb_array_elements_text(list::jsonb) WITH ORDINALITY AS e (element, place) $$;
CREATE FUNCTION json_element(list TEXT, place INTEGER) RETURNS TEXT LANGUAGE sql IMMUTABLE AS
	$$ SELECT list::jsonb ->> place $$;
CREATE OPERATOR ->> (LEFTARG = TEXT, RIGHTARG = INTEGER, FUNCTION = json_element);
