package eventstoredb

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	"annals/events/fault"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

// maxMessage is the maximum size of a message, as in the official clients.
const maxMessage = 17 << 20

// dial prepares a connection to a node. The first call on the connection establishes it.
func (c *cluster) dial(address string) (*grpc.ClientConn, error) {
	transport, err := c.transport()
	if err != nil {
		return nil, err
	}
	options := []grpc.DialOption{
		grpc.WithTransportCredentials(transport),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage)),
	}
	if c.config.KeepAliveInterval >= 0 {
		options = append(options, grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: c.config.KeepAliveInterval, Timeout: c.config.KeepAliveTimeout, PermitWithoutStream: true,
		}))
	}
	if c.config.Username != "" && !c.config.DisableTLS {
		options = append(options, grpc.WithPerRPCCredentials(basic(c.config.Username+":"+c.config.Password)))
	}
	conn, err := grpc.NewClient(address, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	return conn, nil
}

func (c *cluster) transport() (credentials.TransportCredentials, error) {
	if c.config.DisableTLS {
		return insecure.NewCredentials(), nil
	}
	t := &tls.Config{RootCAs: c.config.RootCAs, InsecureSkipVerify: c.config.SkipCertificateVerification, MinVersion: tls.VersionTLS12}
	if c.config.UserCertFile != "" {
		pair, err := tls.LoadX509KeyPair(c.config.UserCertFile, c.config.UserKeyFile)
		if err != nil {
			return nil, fmt.Errorf("read the client certificate for the log server: %w", err)
		}
		t.Certificates = []tls.Certificate{pair}
	}
	return credentials.NewTLS(t), nil
}

// misnamed returns err, or a clearer error if the TLS setting in the URL does not match
// the server. Neither the client nor the server would report that. It takes at most a
// second, even if ctx has ended.
func (c *cluster) misnamed(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	seeds, _ := c.seeds()
	for _, address := range seeds {
		switch secure, known := usesTLS(ctx, address); {
		case known && secure && c.config.DisableTLS:
			return fault.Hide(fault.Invalid, "the URL of the log has tls=false, and "+address+" uses TLS: write tls=true", err)
		case known && !secure && !c.config.DisableTLS:
			return fault.Hide(fault.Invalid, "the URL of the log requires TLS, and "+address+" does not use it: write tls=false", err)
		}
	}
	return err
}

// usesTLS reports whether a server uses TLS; known is false if it does not respond. It
// sends no credentials.
func usesTLS(ctx context.Context, address string) (secure, known bool) {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err == nil {
		_ = conn.Close() // nothing was written
		return true, true
	}
	return false, errors.As(err, new(tls.RecordHeaderError))
}

// basic is "user:password", sent with every call.
type basic string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b basic) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(b))}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials: passwords are never
// sent unencrypted. Servers without TLS do not require passwords.
func (basic) RequireTransportSecurity() bool { return true }
