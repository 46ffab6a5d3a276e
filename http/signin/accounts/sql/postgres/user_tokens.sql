CREATE FUNCTION users_tokens_ended() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
	DELETE FROM tokens WHERE "user" = NEW.name;
	RETURN NULL;
END $$;
CREATE TRIGGER users_tokens_ended AFTER UPDATE OF password, disabled, deleted ON users
FOR EACH ROW WHEN (NEW.disabled OR NEW.deleted OR NEW.password <> OLD.password)
EXECUTE FUNCTION users_tokens_ended();
