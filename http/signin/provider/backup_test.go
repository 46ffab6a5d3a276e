package provider

import (
	"os"
	"path/filepath"
	"testing"

	"annals/http/signin/accounts"
	"annals/http/signin/accounts/accountstest"
)

func TestBackupOmitsSignIns(t *testing.T) {
	s := newSite(t)
	p, b := s.register(webRedirect), s.browser()
	p.redeem(p.code(b))
	s.device()
	dir := t.TempDir()
	if err := s.Accounts.CopyTo(t.Context(), filepath.Join(dir, accounts.FileName)); err != nil {
		t.Fatalf("CopyTo: %v", err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("the folder of the copy contains %v, %v; want one file", files, err)
	}
	accountstest.OpenFile(t, dir)
	for table, want := range map[string]int{"sessions": 0, "grants": 0, "devices": 0, "clients": 1, "browsers": 1} {
		var n int
		if err := accountstest.OpenFileDB(t, dir).QueryRow(`SELECT count(*) FROM ` + table).Scan(&n); err != nil || n != want {
			t.Errorf("the copy has %d %s (%v), want %d", n, table, err, want)
		}
	}
}
