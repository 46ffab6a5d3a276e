package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"annals/commands/importer/extract"
	"annals/commands/importer/extract/pdfium"
	"annals/events/disk"
	"annals/events/fault"
	"annals/http/signin"
	"annals/projections/searchindex"

	"github.com/gofrs/flock"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
)

// serveConfig is everything that serve can be told.
type serveConfig struct {
	access                               accessConfig
	data, listen, accounts               string
	log, readModels, readReplica         string
	search, originals                    string
	coreURL, vaultURL, mcpURL, issuerURL string
	issuers, admins, origins, proxies    []string
	audience                             string
	mcpPrefix, mcpScheme                 string
	mcpIngestRoots                       []string
	mcpAllowDelete                       bool
	sharing                              sharingConfig

	workers, searchLimit, files int
	fileBytes, uploadBytes      int64
	extract                     extract.Limits
	fileTimeout, stall, drain   time.Duration
	quota                       quotaConfig
	logLevel, logFormat         string
	accessLog                   bool
	profiles                    string // address; none: not served
	metrics                     string // address; none: that of the services
	adminPasswordFile           string
	rotateKeys                  time.Duration
	requireFactor               bool
}

const serveName = "serve"

// noDrain is a time for draining that was not set.
const noDrain = time.Duration(math.MinInt64)

func serveCommand(dataDir func() string) *cobra.Command {
	c := new(serveConfig)
	command := &cobra.Command{
		Use:   serveName,
		Short: "Run the service",
		Long: "Run the service. On an empty data folder it makes the folder and the user admin, and prints how to go on.\n" +
			"An interrupt ends it in order: requests and files in work finish, and what was accepted goes on at the next start.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.data, c.accounts = dataDir(), accountsURL(cmd)
			if err := c.check(); err != nil {
				return err
			}
			logger, err := newLogger(c, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			for _, sentence := range unknownVariables(cmd.Root(), os.Environ()) {
				logger.Warn(sentence)
			}
			return serve(cmd.Context(), c, logger, cmd.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.StringVar(&c.listen, "listen", defaultListen, "address to listen on")
	flags.StringVar(&c.metrics, "metrics-listen", "", "address to serve /metrics at, and no longer at that of the services")
	flags.StringVar(&c.log, "log", "", logHelp)
	flags.StringVar(&c.readModels, "read-models", "", "URL of the read models, sqlite:///folder or postgres://user:password@host/database?schema=PREFIX (default: in the data folder)")
	flags.StringVar(&c.readReplica, "read-replica", "", "URL of a streaming replica of --read-models, or of several, which answer where they have caught up (default: none)")
	flags.StringVar(&c.search, "search", "", "URL of the search index, "+searchForms+" (default: in the data folder)")
	flags.StringVar(&c.originals, "originals", "", "URL of the uploaded files, file:///folder or s3://bucket/prefix (default: in the data folder)")
	flags.StringVar(&c.coreURL, "core-url", "", "URL at which clients reach the core (default: follows --listen)")
	flags.StringVar(&c.vaultURL, "vault-url", "", "URL at which clients reach the vault (default: follows --listen)")
	flags.StringVar(&c.mcpURL, "mcp-url", "", "URL at which agents reach the tools (default: follows --listen)")
	flags.StringVar(&c.mcpPrefix, "mcp-prefix", "service_", "what the names of the agents' tools begin with")
	flags.StringVar(&c.mcpScheme, "mcp-scheme", "service", "scheme of the URIs of the agents' resources")
	flags.StringArrayVar(&c.mcpIngestRoots, "mcp-ingest-root", nil, "folder of this machine below which agents may import files (default: none); may be repeated")
	flags.BoolVar(&c.mcpAllowDelete, "mcp-allow-delete", false, "let agents delete documents")
	flags.StringVar(&c.issuerURL, "issuer-url", "", "URL of the built-in sign-in (default: follows --listen)")
	flags.StringVar(&c.audience, "audience", signin.DefaultAudience, "audience of the built-in sign-in's tokens")
	flags.StringArrayVar(&c.issuers, "issuer", nil, "trust an OpenID issuer: url=URL,alias=NAME,audience=A[,user-claim=C][,groups-claim=C][,admin-claim=C][,admin-value=V]; may be repeated")
	flags.StringSliceVar(&c.admins, "admin", nil, "users who may do everything, such as user:corp/alice, or alice of the built-in sign-in")
	flags.StringVar(&c.adminPasswordFile, "admin-password-file", "", "file whose first line is the password of the user admin, read at the first start alone; only its owner may have access (default: none; a random one is shown if standard output is a terminal)")
	flags.BoolVar(&c.requireFactor, "require-second-factor", false, "require a one-time code or a passkey of every user of the built-in sign-in; who has none sets codes up at the next sign-in")
	flags.DurationVar(&c.rotateKeys, "rotate-keys", 0, "age at which the signing key of the built-in sign-in is replaced, such as 2160h; at least 24h (default: never; annals keys rotate)")
	flags.StringSliceVar(&c.proxies, "trusted-proxy", nil, "addresses or networks of reverse proxies, whose X-Forwarded-For tells the sign-in who tries too often")
	flags.StringSliceVar(&c.origins, "cors-origin", nil, "origins whose web pages may call the service")
	c.sharing.bind(flags)
	flags.IntVar(&c.workers, "workers", runtime.NumCPU(), "files that are imported side by side")
	flags.IntVar(&c.searchLimit, "search-limit", 10, "passages that a search returns")
	flags.IntVar(&c.files, "max-files", 10_000, "files in one upload")
	flags.Int64Var(&c.fileBytes, "max-file-bytes", 1<<30, "bytes of one uploaded file")
	flags.Int64Var(&c.uploadBytes, "max-upload-bytes", 64<<30, "bytes of one upload")
	flags.IntVar(&c.extract.Pages, "max-pages", 5000, "pages of a PDF")
	flags.Int64Var(&c.extract.TextBytes, "max-text-bytes", 1<<30, "bytes of text read from one file")
	flags.DurationVar(&c.extract.Time, "extract-time", 10*time.Minute, "time for reading one file, and time of the processor for it")
	flags.Int64Var(&c.extract.Memory, "extract-memory", pdfium.DefaultMemory, fmt.Sprintf("bytes of memory of one process that reads files, %d (192 MiB) at least", pdfium.LeastMemory))
	flags.DurationVar(&c.fileTimeout, "file-timeout", 15*time.Minute, "time for one try at importing a file")
	flags.DurationVar(&c.stall, "stall", time.Minute, "time without progress after which a progress stream ends")
	flags.DurationVar(&c.drain, "drain", noDrain, "time for which a server that is told to stop still serves, not ready, so that requests go to others (default: 5s where read models are shared, else none)")
	flags.Lookup("drain").DefValue = "0s" // which help does not show
	c.quota.bind(flags)
	c.access.bind(flags)
	flags.BoolVar(&c.accessLog, "access-log", false, "log a line for each request at level info, with user, route, status, duration and correlation id (default: at level debug alone)")
	flags.StringVar(&c.logLevel, "log-level", "info", "debug, info, warn or error")
	flags.StringVar(&c.logFormat, "log-format", "text", "text or json")
	flags.StringVar(&c.profiles, "pprof", "", "address at which Go's profiles are served (default: nowhere)")
	if err := flags.MarkHidden("pprof"); err != nil {
		panic(err) // the flag is there
	}
	return command
}

func newLogger(c *serveConfig, w io.Writer) (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.logLevel)); err != nil {
		return nil, fmt.Errorf("--log-level %s: must be debug, info, warn or error", c.logLevel)
	}
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: tellCauses}
	switch c.logFormat {
	case "text":
		return slog.New(disk.Quiet(slog.NewTextHandler(w, options))), nil
	case "json":
		return slog.New(disk.Quiet(slog.NewJSONHandler(w, options))), nil
	}
	return nil, fmt.Errorf("--log-format %s: must be text or json", c.logFormat)
}

// tellCauses writes errors with the causes that clients are not told.
func tellCauses(_ []string, a slog.Attr) slog.Attr {
	if err, ok := a.Value.Any().(error); ok {
		a.Value = slog.StringValue(fault.Detail(err))
	}
	return a
}

// check returns an error that names the first setting that cannot be.
func (c *serveConfig) check() error {
	if c.data == "" {
		return errors.New("--data must name a folder")
	}
	for _, s := range []struct {
		flag        string
		value       int64
		least, most int64
	}{
		{"workers", int64(c.workers), 1, 1024},
		{"quota-searches", int64(c.quota.searches), 1, 1024},
		{"search-limit", int64(c.searchLimit), 1, searchindex.MaxLimit / 2},
		{"max-files", int64(c.files), 1, 1_000_000},
		{"max-file-bytes", c.fileBytes, 1, math.MaxInt64},
		{"max-upload-bytes", c.uploadBytes, 1, math.MaxInt64},
		{"max-pages", int64(c.extract.Pages), 1, math.MaxInt32},
		{"max-text-bytes", c.extract.TextBytes, 1, math.MaxInt64},
	} {
		if s.value < s.least || s.value > s.most {
			return fmt.Errorf("--%s must be from %d to %d", s.flag, s.least, s.most)
		}
	}
	if c.extract.Memory < pdfium.LeastMemory {
		return fmt.Errorf("--extract-memory is %d: a process that reads files needs %d (%d MiB) at least, or it ends where a PDF is long; leave the flag out for %d MiB",
			c.extract.Memory, pdfium.LeastMemory, pdfium.LeastMemory>>20, pdfium.DefaultMemory>>20)
	}
	if _, err := c.sharing.rules(); err != nil {
		return err
	}
	if _, err := c.quota.principals(); err != nil {
		return err
	}
	if err := c.checkPlaces(); err != nil {
		return err
	}
	if _, err := parseProxies(c.proxies); err != nil {
		return err
	}
	for _, text := range c.issuers {
		if _, err := parseIssuer(text); err != nil {
			return err
		}
	}
	for _, text := range c.admins {
		if err := checkAdmin(text); err != nil {
			return err
		}
	}
	for _, text := range c.origins {
		if err := checkOrigin(text); err != nil {
			return err
		}
	}
	if strings.TrimSpace(c.audience) == "" {
		return fmt.Errorf("--audience must not be empty: leave the flag out for %s", signin.DefaultAudience)
	}
	for flag, address := range map[string]string{"listen": c.listen, "metrics-listen": c.metrics, "pprof": c.profiles} {
		if _, err := net.ResolveTCPAddr("tcp", address); err != nil && address != "" {
			return fmt.Errorf("--%s %s: %w", flag, address, err)
		}
	}
	for flag, d := range map[string]time.Duration{"extract-time": c.extract.Time, "file-timeout": c.fileTimeout, "stall": c.stall} {
		if d < time.Second {
			return fmt.Errorf("--%s must be at least 1s", flag)
		}
	}
	if c.rotateKeys != 0 && c.rotateKeys < 24*time.Hour {
		return errors.New("--rotate-keys must be at least 24h, or 0 for never")
	}
	if c.drain < 0 && c.drain != noDrain {
		return errors.New("--drain must not be negative; 0 is for none")
	}
	return nil
}

// errHeld says that another process holds a folder.
var errHeld = errors.New("another server runs on")

// hold makes a folder and locks it, for as long as this process lives or until
// unlock is called, against other servers. Where one has it the error is
// errHeld.
func hold(what, dir, lockFile string) (unlock func() error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make %s: %w", what, err)
	}
	lock := flock.New(filepath.Join(dir, lockFile))
	if held, err := lock.TryLock(); err != nil {
		return nil, fmt.Errorf("lock %s %s: %w", what, dir, err)
	} else if !held {
		return nil, fmt.Errorf("%w %s %s", errHeld, what, dir)
	}
	return lock.Unlock, nil
}

// serve runs the service until ctx ends, and prints to out how to use it.
func serve(ctx context.Context, c *serveConfig, logger *slog.Logger, out io.Writer) (err error) {
	at, err := net.ResolveTCPAddr("tcp", c.listen)
	if err != nil {
		return fmt.Errorf("--listen %s: %w", c.listen, err)
	}
	if _, err := c.urls(at); err != nil {
		return err
	}
	made := os.Mkdir(c.data, 0o700) == nil // where its parent is missing, hold makes both, and they stay
	unlock, err := hold("the data folder", c.data, "serve.lock")
	if err != nil {
		return err
	}
	unbound := false
	defer func() {
		err = errors.Join(err, unlock())
		if made && unbound { // this start made all that is in it, and served nothing
			err = errors.Join(err, os.RemoveAll(c.data))
		}
	}()

	// A port is bound once everything else is found to be good, so that a wrong
	// setting is reported though the port is taken. One that the system picks is
	// free, and known only once it is bound.
	var picked net.Listener
	if at.Port == 0 {
		if picked, err = new(net.ListenConfig).Listen(ctx, "tcp", c.listen); err != nil {
			return fmt.Errorf("--listen %s: %w", c.listen, err)
		}
		defer func() { err = errors.Join(err, closeListener(picked)) }()
		at = picked.Addr().(*net.TCPAddr)
	}
	urls, err := c.urls(at)
	if err != nil {
		return err
	}
	boundMemory()
	s, err := openService(ctx, c, urls, logger)
	if err != nil {
		return c.blameDisk(err)
	}
	defer func() { err = errors.Join(err, s.close()) }()
	s.listener = picked
	if err := s.listen(ctx); err != nil {
		unbound = true
		return err
	}
	if err := s.makeAdmin(ctx); err != nil {
		return err
	}
	left := urls.signin()
	if c.accounts != "" {
		left.Accounts = withoutPassword(c.accounts)
	}
	if err := signin.WriteURLs(c.data, left); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	s.run(ctx, g)
	g.Go(func() error { giveBackMemory(ctx, s.log); return nil })
	g.Go(func() error { return s.welcome(ctx, out) })
	return g.Wait()
}

// addresses are the URLs at which clients reach the service.
type addresses struct {
	core, vault, mcp, issuer *url.URL
	audience                 string
}

func (a addresses) signin() signin.URLs {
	return signin.URLs{Core: a.core.String(), Vault: a.vault.String(), MCP: a.mcp.String(), Issuer: a.issuer.String(), Audience: a.audience}
}

// urls returns the configured addresses; those that are not follow the
// address that is listened on.
func (c *serveConfig) urls(listening *net.TCPAddr) (a addresses, err error) {
	host, port, err := net.SplitHostPort(listening.String())
	if err != nil {
		return a, err
	}
	if len(listening.IP) == 0 || listening.IP.IsUnspecified() {
		host = "localhost"
	}
	a.audience = c.audience
	for _, u := range []struct {
		to         **url.URL
		flag, text string
		path       string
	}{
		{&a.core, "core-url", c.coreURL, "/core"},
		{&a.vault, "vault-url", c.vaultURL, "/vault"},
		{&a.mcp, "mcp-url", c.mcpURL, "/mcp"},
		{&a.issuer, "issuer-url", c.issuerURL, "/signin"},
	} {
		if u.text == "" {
			u.text = "http://" + net.JoinHostPort(host, port) + u.path
		}
		if *u.to, err = parsePublicURL(u.flag, u.text); err != nil {
			return a, err
		}
	}
	for i, u := range []*url.URL{a.core, a.vault, a.mcp, a.issuer} {
		for _, other := range []*url.URL{a.core, a.vault, a.mcp, a.issuer}[:i] {
			if u.String() == other.String() {
				return a, fmt.Errorf("two services cannot have the same URL %s", u)
			}
		}
	}
	return a, nil
}
