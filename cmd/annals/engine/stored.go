package engine

import (
	"annals/events/disk"
	"annals/projections/searchindex/bleve"
)

// Stored returns how many bytes the log, the read_models and the search_index take on the disks of this machine. It
// leaves out those that a server keeps.
func (u URLs) Stored() map[string]int64 {
	all := map[string]int64{}
	if path, err := localPath(LogFlag, u.Log, u.Data, "sqlite", "log.db"); err == nil {
		all["log"] = disk.Used(path)
	}
	if path, err := localPath("read-models", u.ReadModels, u.Data, "sqlite", "read-models"); err == nil {
		all["read_models"] = disk.Used(path)
	}
	if store, err := openSearch(u.Search, u.Data); err == nil {
		if folder, local := store.(bleve.Folder); local {
			all["search_index"] = disk.Used(string(folder))
		}
	}
	return all
}
