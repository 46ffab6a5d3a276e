CREATE TABLE IF NOT EXISTS descriptions (
	content TEXT NOT NULL, -- SHA-256 of the original, and how much of it was read
	model TEXT NOT NULL,
	description TEXT NOT NULL, -- '' if the model has none that the text supports
	time INTEGER NOT NULL, -- in microseconds
	PRIMARY KEY (content, model)
);
