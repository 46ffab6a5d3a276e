CREATE FUNCTION users_links_ended() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
	DELETE FROM links WHERE "user" = NEW.name;
	IF NEW.deleted THEN
		DELETE FROM factors WHERE "user" = NEW.name;
		DELETE FROM passkeys WHERE "user" = NEW.name;
		DELETE FROM recovery WHERE "user" = NEW.name;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER users_links_ended AFTER UPDATE OF password, disabled, deleted ON users
FOR EACH ROW WHEN (NEW.disabled OR NEW.deleted OR NEW.password <> OLD.password)
EXECUTE FUNCTION users_links_ended();
