CREATE TABLE IF NOT EXISTS answers (
	seq INTEGER PRIMARY KEY AUTOINCREMENT,
	id TEXT NOT NULL,
	time INTEGER NOT NULL, -- in microseconds
	actor TEXT NOT NULL,
	correlation TEXT NOT NULL,
	model TEXT NOT NULL,
	outcome TEXT NOT NULL,
	input_tokens INTEGER NOT NULL,
	output_tokens INTEGER NOT NULL,
	cost INTEGER NOT NULL, -- in millionths
	question TEXT NOT NULL,
	body TEXT NOT NULL, -- JSON; '' after one of its documents was deleted
	size INTEGER NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS answers_id ON answers (id);
CREATE INDEX IF NOT EXISTS answers_time ON answers (time, seq);
CREATE INDEX IF NOT EXISTS answers_actor ON answers (actor, seq);
CREATE TABLE IF NOT EXISTS answer_documents (
	answer INTEGER NOT NULL, -- seq
	document TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS answer_documents_document ON answer_documents (document, answer);
CREATE INDEX IF NOT EXISTS answer_documents_answer ON answer_documents (answer);
CREATE TABLE IF NOT EXISTS spent (
	day TEXT NOT NULL, -- in UTC, 2006-01-02
	principal TEXT NOT NULL, -- '' has the sum of all
	tokens INTEGER NOT NULL,
	cost INTEGER NOT NULL, -- in millionths
	PRIMARY KEY (day, principal)
);
