// Package s3 is a client for a bucket in S3 or a compatible store, for originals and
// backups. Its errors have kinds. It retries requests with backoff after transient
// errors. It imports events/fault, and no other package of this module.
package s3

import (
	"context"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// Bucket is a bucket with a prefix. It is safe for concurrent use.
//
// The errors of its methods are fault.Unavailable for transient errors and missing
// permissions, fault.NotFound for a missing object, and fault.Conflict for a failed
// condition.
type Bucket struct {
	core   *minio.Core
	name   string
	prefix string // empty, or ends with a slash
}

// Info describes an object.
type Info struct {
	Name     string // below the prefix
	Size     int64
	ETag     string
	Modified time.Time // by the server's clock, on some servers in full seconds
}

// Open opens the bucket and prefix that a URL names:
//
//	s3://bucket/prefix?endpoint=https://host:9000&region=eu-central-1
//
// The default endpoint is Amazon's; the default region is requested from the server.
// Credentials come from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN,
// from the files of the AWS tools, or from the role of a machine at Amazon. Credentials
// must not be in the URL. Open checks that the bucket can be listed.
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

// Below returns the same bucket with folder appended to the prefix. folder has no
// slashes at its ends.
func (b *Bucket) Below(folder string) *Bucket {
	return &Bucket{core: b.core, name: b.name, prefix: b.prefix + folder + "/"}
}

// String returns the URL without its query.
func (b *Bucket) String() string {
	return "s3://" + b.name + "/" + strings.TrimSuffix(b.prefix, "/")
}

// stall is how long a connection may transfer no byte before it fails.
const stall = 2 * time.Minute

// newTransport returns a transport whose connections fail if they transfer no byte for
// the time stall. Otherwise a server that stops in the middle of a reply would block the
// caller for ever.
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
		DisableCompression:    true, // return bytes as they are stored
	}
}

// movingConn is a connection whose reads and writes fail if no byte was transferred in
// either direction for a while. It counts both directions, because during an upload no
// bytes of the reply arrive.
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
