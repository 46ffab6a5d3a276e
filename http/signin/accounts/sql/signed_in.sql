-- When a user last signed in with a browser, in microseconds since 1970, UTC; 0: never, or before this was recorded.
ALTER TABLE users ADD COLUMN signed_in INTEGER NOT NULL DEFAULT 0;
