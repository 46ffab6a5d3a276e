package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"annals/events/fault"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// Scheme is the URL scheme of buckets.
const Scheme = "s3"

const form = "s3://bucket/prefix?endpoint=https://host:9000&region=eu-central-1"

// location is a parsed URL.
type location struct {
	bucket, prefix string
	endpoint       *url.URL
	region         string
	amazon         bool
}

// parse parses a URL. Errors do not contain the URL, because it may contain a password.
func parse(text string) (l location, err error) {
	wrong := func(format string, args ...any) (location, error) {
		return location{}, fault.Errorf(fault.Invalid, "the S3 URL "+format+"; write "+form, args...)
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != Scheme {
		return wrong("cannot be parsed")
	}
	if u.User != nil {
		return wrong("contains credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead")
	}
	l.bucket, l.prefix = u.Host, strings.Trim(u.Path, "/")
	if err := s3utils.CheckValidBucketNameStrict(l.bucket); err != nil {
		return wrong("has an invalid bucket name %q: %w", l.bucket, err)
	}
	if l.prefix != "" && path.Clean("/"+l.prefix) != "/"+l.prefix {
		return wrong("has the prefix %q, with empty parts or dots", l.prefix)
	}
	query, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return wrong("has a query that cannot be parsed")
	}
	for key := range query {
		if key != "endpoint" && key != "region" {
			return wrong("has the unknown setting %q", key)
		}
	}
	l.region = query.Get("region")
	endpoint := query.Get("endpoint")
	if l.amazon = endpoint == ""; l.amazon {
		endpoint = "https://s3.amazonaws.com"
	}
	l.endpoint, err = url.Parse(endpoint)
	if err != nil || l.endpoint.Host == "" || l.endpoint.User != nil || strings.Trim(l.endpoint.Path, "/") != "" ||
		l.endpoint.Scheme != "https" && l.endpoint.Scheme != "http" {
		return wrong("has an endpoint that is not like https://host:9000")
	}
	return l, nil
}

// connect creates the client, with credentials.
func (l location) connect(ctx context.Context, transport http.RoundTripper) (*Bucket, error) {
	providers := []credentials.Provider{&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}}
	if l.amazon {
		// Only machines at Amazon get credentials by their role.
		providers = append(providers, &credentials.IAM{Client: &http.Client{Timeout: 5 * time.Second}})
	}
	chain := credentials.NewChainCredentials(providers)
	value, err := chain.GetWithContext(&credentials.CredContext{Client: &http.Client{Transport: transport, Timeout: stall}, Context: ctx})
	if err == nil && value.AccessKeyID == "" {
		err = errors.New("none found")
	}
	if err != nil {
		return nil, fault.Errorf(fault.Invalid, "find credentials for s3://%s: %w: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE to a profile of the AWS tools", l.bucket, err)
	}
	core, err := minio.NewCore(l.endpoint.Host, &minio.Options{
		Creds: chain, Secure: l.endpoint.Scheme == "https", Region: l.region, Transport: transport,
		MaxRetries: 1, // one try: the function retry repeats requests
	})
	if err != nil {
		return nil, fmt.Errorf("create a client for s3://%s: %w", l.bucket, err)
	}
	b := &Bucket{core: core, name: l.bucket}
	if l.prefix != "" {
		b.prefix = l.prefix + "/"
	}
	return b, nil
}
