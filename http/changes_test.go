package http_test

import (
	"encoding/json"
	"fmt"
	"mime/multipart"
	"strings"
	"testing"

	"annals/commands"
	"annals/commands/quota"
	"annals/events"
	httpd "annals/http"
)

// changing starts the stack with a limit on the bytes that the changes of a user add to the
// log per hour.
func changing(t *testing.T, limit int64) *service {
	t.Helper()
	return startStack(t, func(h *httpd.Server) {
		policy := &quota.Policy{User: quota.Limits{quota.Changed: limit}}
		h.Changes, h.Quotas = &quota.Changes{Limits: policy.Of}, policy.Of
		h.Commands.(*commands.Handler).Changes = h.Changes
	})
}

// logged returns the total size of the log's events in bytes.
func (s *service) logged() (n int64) {
	s.Helper()
	all, _, err := s.log.Records(s.Context(), 0, 1_000_000)
	if err != nil {
		s.Fatal(err)
	}
	for _, r := range all {
		n += int64(len(r.Data))
	}
	return n
}

// uploads returns a function that uploads copies of a file and waits for their job.
func (s *service) uploads(files int, name, content string, tags ...string) func(int) (int, string, string) {
	var metadata []any
	for range files {
		metadata = append(metadata, map[string]any{"folder_name": "F", "tags": append([]string{}, tags...)})
	}
	text, _ := json.Marshal(metadata)
	return func(int) (int, string, string) {
		resp, body := s.upload("", func(w *multipart.Writer) {
			for range files {
				addFile(w, name, content)
			}
			w.WriteField("file_metadata", string(text))
		})
		if resp.StatusCode < 300 {
			s.finish(decode[jobReply](s.T, body).JobID)
		}
		return resp.StatusCode, resp.Header.Get("Retry-After"), body
	}
}

// When a user's changes have added as many bytes to the log as the hourly limit allows,
// further changes are refused. Other users are not affected.
func TestChangesAreLimited(t *testing.T) {
	const limit = 64 << 10
	long := func(n, length int, prefix string) (all []string) {
		for i := range n {
			all = append(all, fmt.Sprintf("%s%0*d", prefix, length-len(prefix), i))
		}
		return all
	}
	for what, attack := range map[string]func(s *service) func(i int) (int, string, string){
		"permission lists": func(s *service) func(int) (int, string, string) {
			folder := s.makeFolder("", "F")
			return func(i int) (int, string, string) {
				var list []events.Permission
				for _, p := range long(90, 200, fmt.Sprintf("group:%d-", i%2)) {
					list = append(list, events.Permission{Principal: events.Principal(p), Access: "read"})
				}
				in, _ := json.Marshal(map[string]any{"permissions": list})
				resp, body := s.do("PUT", "/vault/folders/"+folder+"/permissions", string(in))
				return resp.StatusCode, resp.Header.Get("Retry-After"), body
			}
		},
		"tags": func(s *service) func(int) (int, string, string) {
			id := s.file("F", "a.txt", "an oil lamp")
			version := 1
			return func(i int) (int, string, string) {
				in, _ := json.Marshal(map[string]any{"tags": long(64, 128, fmt.Sprint(version%2, "-")), "version": version})
				resp, body := s.do("PUT", "/vault/documents/"+id+"/tags", string(in))
				if resp.StatusCode < 300 {
					version++
				}
				return resp.StatusCode, resp.Header.Get("Retry-After"), body
			}
		},
		"refused files": func(s *service) func(int) (int, string, string) {
			return func(i int) (int, string, string) {
				entry := map[string]any{"folder_name": "F", "tags": long(64, 128, "t")}
				resp, body := s.upload("", func(w *multipart.Writer) {
					var metadata []any
					for _, name := range long(20, 250, "x") {
						addFile(w, name[:246]+".exe", "M")
						metadata = append(metadata, entry)
					}
					text, _ := json.Marshal(metadata)
					w.WriteField("file_metadata", string(text))
				})
				return resp.StatusCode, resp.Header.Get("Retry-After"), body
			}
		},
		"tags of files that fail": func(s *service) func(int) (int, string, string) {
			return s.uploads(5, "x.docx", "M", long(64, 128, "t")...)
		},
		"files that fail": func(s *service) func(int) (int, string, string) {
			return s.uploads(10, "x.docx", "M")
		},
		"the same files": func(s *service) func(int) (int, string, string) {
			return s.uploads(10, "lamp.txt", "an oil lamp")
		},
		"new contents": func(s *service) func(int) (int, string, string) {
			id := s.file("F", "a.txt", "an oil lamp")
			version := 1
			return func(int) (int, string, string) {
				resp, body := s.do("PUT", "/vault/documents/"+id+"/content", fmt.Sprint("lamp ", version%2), "If-Match", fmt.Sprintf(`"%d"`, version), "Content-Type", "text/plain")
				if resp.StatusCode < 300 {
					version++
				}
				return resp.StatusCode, resp.Header.Get("Retry-After"), body
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := changing(t, limit)
			act := attack(s)
			before, refused := s.logged(), 0
			for i := range 200 {
				status, after, body := act(i)
				if status < 300 {
					continue
				}
				if refused++; status != 429 || after == "" || !strings.Contains(body, "you have used up the 64 KiB that your changes may add to the log in an hour") {
					t.Fatalf("change %d = %d, Retry-After %q, %s", i, status, after, body)
				}
				if refused == 10 {
					break
				}
			}
			if grown := s.logged() - before; refused < 10 || grown > 2*limit {
				t.Errorf("%d changes were refused, and the log grew by %d bytes with a limit of %d", refused, grown, limit)
			}
			if _, body := s.do("GET", "/vault/usage", ""); !strings.Contains(body, `"limit":65536`) || strings.Contains(body, `"changeBytes":{"used":0,`) {
				t.Errorf("usage = %s", body)
			}
			for _, who := range []string{"admin", "bob"} {
				if resp, body := s.do("POST", "/vault/folders", fmt.Sprintf(`{"name":"of %s"}`, who), "Authorization", "Bearer "+who); resp.StatusCode != 201 {
					t.Errorf("POST /vault/folders by %s = %d %s, want 201", who, resp.StatusCode, body)
				}
			}
		})
	}
}

// A thousand renames within an hour stay below the default limit.
func TestThousandRenamesAreAllowed(t *testing.T) {
	s := changing(t, quota.Default[quota.Changed])
	folder := s.makeFolder("", "F")
	for i := range 1000 {
		resp, body := s.do("PATCH", "/vault/folders/"+folder, fmt.Sprintf(`{"name":"Report %d"}`, i))
		if resp.StatusCode >= 300 {
			t.Fatalf("rename %d: %d %s", i, resp.StatusCode, body)
		}
	}
}

// When files are imported, names and tags of ordinary length do not count toward the limit on
// changes.
func TestImportIsNotChargedAsChange(t *testing.T) {
	s := changing(t, 64<<10)
	var tags []string
	for i := range 8 {
		tags = append(tags, fmt.Sprintf("project lighthouses %d", i))
	}
	const files = 100
	resp, body := s.upload("", func(w *multipart.Writer) {
		var metadata []any
		for i := range files {
			metadata = append(metadata, map[string]any{"folder_name": "Works/Lighthouses/Plans of the year 1759", "tags": tags})
			addFile(w, fmt.Sprintf("Report of the keeper of the lighthouse, number %d.txt", i), fmt.Sprint("oil ", i))
		}
		text, _ := json.Marshal(metadata)
		w.WriteField("file_metadata", string(text))
	})
	if resp.StatusCode != 200 {
		t.Fatalf("upload = %d %s", resp.StatusCode, body)
	}
	if j := s.finish(decode[jobReply](t, body).JobID); j.Successful != files {
		t.Fatalf("%d of %d files are imported", j.Successful, files)
	}
	if _, body := s.do("GET", "/vault/usage", ""); !strings.Contains(body, `"changeBytes":{"used":0,`) {
		t.Errorf("usage = %s", body)
	}
}
