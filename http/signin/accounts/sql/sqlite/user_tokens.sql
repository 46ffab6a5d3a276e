CREATE TRIGGER users_tokens_ended AFTER UPDATE OF password, disabled, deleted ON users
WHEN NEW.disabled OR NEW.deleted OR NEW.password <> OLD.password BEGIN
	DELETE FROM tokens WHERE user = NEW.name;
END;
