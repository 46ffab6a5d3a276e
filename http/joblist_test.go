package http_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
)

type jobList struct {
	Jobs []struct {
		JobID      string     `json:"job_id"`
		Status     string     `json:"status"`
		Message    string     `json:"message"`
		Percent    float64    `json:"progress_percent"`
		Total      int        `json:"total_files"`
		Successful int        `json:"successful"`
		Failed     int        `json:"failed"`
		Error      *string    `json:"error"`
		Done       bool       `json:"done"`
		CreatedAt  time.Time  `json:"created_at"`
		FinishedAt *time.Time `json:"finished_at"`
		Results    []any      `json:"results"`
	} `json:"jobs"`
	Next *string `json:"next_cursor"`
}

func TestJobList(t *testing.T) {
	s := startStack(t)
	began := time.Now()
	resp, body := s.do("GET", "/core/jobs", "")
	s.want(resp, body, 200, `{"jobs":[],"next_cursor":null}`)
	s.file("A", "a.md", handbook)
	s.file("A", "b.md", "# Other")
	_, body = s.do("GET", "/core/jobs?limit=1", "")
	first := decode[jobList](t, body)
	if len(first.Jobs) != 1 || first.Next == nil || first.Jobs[0].JobID != *first.Next {
		t.Fatalf("first page = %s", body)
	}
	j := first.Jobs[0]
	if !j.Done || j.Status != "complete" || j.Message != "1 of 1 files imported" || j.Total != 1 || j.Successful != 1 || j.Failed != 0 || j.Error != nil || j.Percent != 100 || j.Results != nil ||
		j.FinishedAt == nil || j.CreatedAt.Before(began.Add(-time.Second)) || j.FinishedAt.Before(j.CreatedAt) {
		t.Errorf("first page = %s", body)
	}
	_, body = s.do("GET", "/core/jobs?cursor="+*first.Next, "")
	if second := decode[jobList](t, body); len(second.Jobs) != 1 || second.Next != nil || second.Jobs[0].CreatedAt.After(j.CreatedAt) || second.Jobs[0].JobID == j.JobID {
		t.Errorf("second page = %s", body)
	}
	for _, user := range []string{"bob", "admin"} {
		resp, body = s.do("GET", "/core/jobs", "", "Authorization", "Bearer "+user)
		s.want(resp, body, 200, `{"jobs":[],"next_cursor":null}`)
		resp, body = s.do("GET", "/core/jobs?cursor="+*first.Next, "", "Authorization", "Bearer "+user)
		s.want(resp, body, 200, `{"jobs":[],"next_cursor":null}`)
	}
	for query, want := range map[string]string{
		"limit=0":                    `{"detail":[{"type":"greater_than_equal","loc":["query","limit"],"msg":"Input should be greater than or equal to 1","input":"0","ctx":{"ge":1}}]}`,
		"limit=101":                  `{"detail":[{"type":"less_than_equal","loc":["query","limit"],"msg":"Input should be less than or equal to 100","input":"101","ctx":{"le":100}}]}`,
		"limit=99999999999999999999": `{"detail":[{"type":"less_than_equal","loc":["query","limit"],"msg":"Input should be less than or equal to 100","input":"99999999999999999999","ctx":{"le":100}}]}`,
		"limit=ten":                  `{"detail":[{"type":"int_parsing","loc":["query","limit"],"msg":"Input should be a valid integer, unable to parse string as an integer","input":"ten"}]}`,
		"cursor=x":                   `{"detail":[{"type":"uuid_parsing","loc":["query","cursor"],"msg":"Input should be a valid UUID","input":"x"}]}`,
	} {
		resp, body := s.do("GET", "/core/jobs?"+query, "")
		s.want(resp, body, 422, want)
	}
	resp, body = s.do("GET", "/core/jobs?cursor="+uuid.NewString(), "")
	s.want(resp, body, 200, `{"jobs":[],"next_cursor":null}`)
}
