// Package s3 is a client of a bucket in S3, or in any compatible store, with what
// originals and backups need. It gives every error its kind and retries transient
// ones with backoff. It imports events/fault, and no other package of this module.
package s3

import (
	"context"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// Bucket is a bucket below a prefix. It is safe for use by several goroutines.
//
// Transient errors and missing rights are fault.Unavailable; a missing object is
// fault.NotFound; a condition that does not hold is fault.Conflict.
type Bucket struct {
	core   *minio.Core
	name   string
	prefix string // empty, or ends with a slash
}

// Info is what a server knows of an object.
type Info struct {
	Name     string // below the prefix
	Size     int64
	ETag     string
	Modified time.Time // by the server's clock, perhaps in full seconds
}

// Open opens the bucket and prefix that a URL names:
//
//	s3://bucket/prefix?endpoint=https://host:9000&region=eu-central-1
//
// Without an endpoint it is Amazon's; without a region the server is asked for
// it. Credentials come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
// AWS_SESSION_TOKEN, from the files that the AWS tools write, or from the
// machine's role at Amazon; never from the URL. Open asks the server whether
// the bucket can be listed.
func Open(ctx context.Context, text string) (*Bucket, error) {
	l, err := parse(text)
	if err != nil {
		return nil, err
	}
	b, err := l.connect(ctx, newTransport(stall))
	if err != nil {
		return nil, err
	}
	for _, err := range b.List(ctx, "", false) {
		if err != nil {
			return nil, err
		}
		break
	}
	return b, nil
}

// Below returns the bucket below a further prefix, a path without slashes at
// its ends.
func (b *Bucket) Below(folder string) *Bucket {
	return &Bucket{core: b.core, name: b.name, prefix: b.prefix + folder + "/"}
}

// String returns the URL without its query.
func (b *Bucket) String() string {
	return "s3://" + b.name + "/" + strings.TrimSuffix(b.prefix, "/")
}

// stall is how long a connection may move no byte before it counts as lost.
const stall = 2 * time.Minute

// newTransport makes the connections of one Bucket, and ends those that stall: a
// server that sends the head of a reply and no more would block its caller for
// ever.
func newTransport(stall time.Duration) http.RoundTripper {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &movingConn{c, stall}, nil
		},
		TLSHandshakeTimeout:   10 * time.Second,
		ResponseHeaderTimeout: stall,
		MaxIdleConnsPerHost:   32,
		IdleConnTimeout:       time.Minute,
		DisableCompression:    true, // bytes come as they are stored
	}
}

// movingConn is a connection whose reads and writes fail once no byte has moved
// for a while in either direction: while an upload is sent, its reply is awaited.
type movingConn struct {
	net.Conn
	stall time.Duration
}

func (c *movingConn) Read(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.stall)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *movingConn) Write(p []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.stall)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}
