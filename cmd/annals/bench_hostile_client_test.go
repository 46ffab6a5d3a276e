package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"sync"
	"time"

	"annals/cmd/annals/client"
)

// hostileClient is one user's HTTP client for the server. It does not share connections
// with other clients.
type hostileClient struct {
	*benchServer
	name   string
	client *http.Client

	mu     sync.Mutex
	bearer string
	issued time.Time
}

func newHostileClient(s *benchServer, name string) *hostileClient {
	s.addUser(name)
	return &hostileClient{benchServer: s, name: name, client: client.NewHTTPClient(16)}
}

func (c *hostileClient) token() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	if time.Since(c.issued) > 20*time.Minute {
		c.bearer, err = issueToken(c.data, c.name)
		c.issued = time.Now()
	}
	return c.bearer, err
}

// send sends a request. It returns the status, and the first 16 MiB of the reply body.
func (c *hostileClient) send(ctx context.Context, method, path, contentType string, body io.Reader) (status int, reply []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return 0, nil, err
	}
	token, err := c.token()
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", contentType)
	r.Header.Set("Accept", "application/json, text/event-stream")
	answer, err := c.client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	reply, err = io.ReadAll(io.LimitReader(answer.Body, 16<<20))
	return answer.StatusCode, reply, err
}

// sendJSON sends a value as JSON, and decodes the reply, which must have status 200.
func (c *hostileClient) sendJSON(ctx context.Context, method, path string, body, into any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	status, reply, err := c.send(ctx, method, path, "application/json", bytes.NewReader(text))
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%s %s: %d %.300s", method, path, status, reply)
	}
	if err == nil {
		err = json.Unmarshal(reply, into)
	}
	return err
}

// upload is a file to upload.
type upload struct {
	name    string
	content []byte
}

// form returns the multipart body that uploads files, and its content type.
func form(files []upload) (contentType string, body []byte, err error) {
	var buffer bytes.Buffer
	w := multipart.NewWriter(&buffer)
	for _, f := range files {
		part, err := w.CreateFormFile("files", f.name)
		if err == nil {
			_, err = part.Write(f.content)
		}
		if err != nil {
			return "", nil, err
		}
	}
	err = w.Close()
	return w.FormDataContentType(), buffer.Bytes(), err
}
