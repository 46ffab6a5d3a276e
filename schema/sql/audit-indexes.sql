-- Indexes that only readers use. A rebuild creates them after it has filled the tables,
-- which is several times as fast.
CREATE INDEX IF NOT EXISTS entries_time ON entries (time);
CREATE INDEX IF NOT EXISTS entries_actor ON entries (actor, time);
CREATE INDEX IF NOT EXISTS entries_place ON entries (place, time);
CREATE INDEX IF NOT EXISTS entries_place_actor ON entries (place, actor, time);
CREATE INDEX IF NOT EXISTS entries_answers ON entries (actor, time) WHERE type IN ('FolderInvitationAccepted', 'FolderLeft');
