CREATE TRIGGER users_links_ended AFTER UPDATE OF password, disabled, deleted ON users
WHEN NEW.disabled OR NEW.deleted OR NEW.password <> OLD.password BEGIN
	DELETE FROM links WHERE user = NEW.name;
END;

CREATE TRIGGER users_factors_removed AFTER UPDATE OF deleted ON users
WHEN NEW.deleted BEGIN
	DELETE FROM factors WHERE user = NEW.name;
	DELETE FROM passkeys WHERE user = NEW.name;
	DELETE FROM recovery WHERE user = NEW.name;
END;
