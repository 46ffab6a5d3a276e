package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"annals/commands"
	"annals/commands/importer"
	"annals/commands/importer/extract"
	"annals/commands/importer/summarise"
	"annals/commands/importer/turns"
	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"
	"annals/events/originals"
	httpd "annals/http"
	"annals/http/mcp"
	"annals/http/metrics"
	"annals/http/ratelimit"
	"annals/http/signin"
	"annals/projections"
	"annals/queries"
	"annals/queries/accesslog"

	"golang.org/x/sync/errgroup"
)

// service is all the parts of a running server, in the order in which they
// are opened; they are closed in the opposite one.
type service struct {
	config *serveConfig
	urls   addresses
	logger *slog.Logger

	listener   net.Listener
	metrics    *metrics.Metrics
	metricsAt  net.Listener // nil: at the server's own
	profilesAt net.Listener // nil: nowhere
	quota      *quota.Ledger
	changes    *quota.Changes
	reads      *ratelimit.Limiter
	log        *events.Log
	control    *projections.Control
	holder     string         // this process among those that share the work
	filing     commands.Gate  // where nodes file on the same log; else nil
	keeping    originals.Gate // where they share originals, too
	originals  originals.Store
	models     *projections.Set
	queue      *projections.Queue
	reader     extract.Reader
	accounts   *signin.Accounts
	verifier   *signin.Verifier
	access     *accesslog.Log
	address    func(*http.Request) string // of a request's client
	queries    *queries.Queries
	importer   *importer.Importer
	server     *httpd.Server

	adminMade bool   // by this start
	password  string // the admin's then
	closers   []func() error
}

// embedded names the one process that serves a data folder of its own. It is
// the same after a restart, so that what a killed server had in work is free at
// once.
const embedded = "embedded"

// For so long a gate stays open that a node has passed: longer than what is done
// behind it mostly takes, and short enough for those to wait who delete a folder.
// Nodes of all versions must have the same.
const (
	filingOpen  = 100 * time.Millisecond // an append
	keepingOpen = 500 * time.Millisecond // putting an object
)

// giveBackAfter is how long a file waits at a node whose places are all taken by
// files that take long.
const giveBackAfter = 5 * time.Second

func openService(ctx context.Context, c *serveConfig, urls addresses, logger *slog.Logger) (_ *service, err error) {
	s := &service{config: c, urls: urls, logger: logger}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	for _, open := range []func(context.Context) error{s.openMetrics, s.openStores, s.openAccess, s.openSignIn, s.openQuotas, s.openImporter} {
		if err := open(ctx); err != nil {
			return nil, err
		}
	}
	if err := s.openServer(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *service) closing(f func() error) { s.closers = append(s.closers, f) }

// openMetrics makes what measures the other parts.
func (s *service) openMetrics(context.Context) error {
	s.metrics = metrics.New(version(), s.logger)
	return nil
}

// listen binds every address that is not bound yet.
func (s *service) listen(ctx context.Context) error {
	for _, l := range []struct {
		to            *net.Listener
		flag, address string
	}{
		{&s.listener, "listen", s.config.listen},
		{&s.metricsAt, "metrics-listen", s.config.metrics},
		{&s.profilesAt, "pprof", s.config.profiles},
	} {
		if *l.to != nil || l.address == "" {
			continue
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", l.address)
		if err != nil {
			return fmt.Errorf("--%s %s: %w", l.flag, l.address, err)
		}
		s.closing(func() error { return closeListener(listener) })
		*l.to = listener
	}
	return nil
}

// closeListener closes a listener, unless that was done once it was served.
func closeListener(l net.Listener) error {
	if err := l.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// openStores opens the log, the originals, and the read models.
func (s *service) openStores(ctx context.Context) error {
	driver, err := openLog(ctx, logFlag, s.config.log, s.config.data, mayCreate)
	if err != nil {
		return err
	}
	s.log = events.NewLog(s.metrics.Driver(driver))
	s.closing(s.log.Close)
	folders, err := newModelFolders(s.config.readModels, s.config.search, s.config.data)
	if err != nil {
		return err
	}
	if folders.replica, err = s.config.replicaOf(folders); err != nil {
		return err
	}
	options, closeControls, err := folders.openControls(ctx, s.config.data, projections.Options{Log: s.log, Logger: s.logger})
	if err != nil && folders.database != nil {
		return fmt.Errorf("--read-models: %w", err)
	}
	if err != nil {
		return err
	}
	s.closing(closeControls)
	s.control, s.holder = options.Control, folders.newHolder()
	if err := s.control.ReleaseAll(ctx, s.holder); err != nil {
		return fmt.Errorf("release what was in work: %w", err)
	}
	if folders.database != nil {
		s.closing(s.release)
		s.filing, s.keeping = s.control.Gate("filing", filingOpen), s.control.Gate("originals", keepingOpen)
	}
	if s.originals, err = openOriginals(ctx, s.config.originals, s.config.data, s.keeping); err != nil {
		return err
	}
	models, unlock, err := openModels(ctx, folders, options)
	if err != nil {
		return err
	}
	s.models = models
	s.closing(unlock)
	s.closing(s.models.Close)
	head, err := s.log.Head(ctx)
	if err != nil {
		return err
	}
	s.queries = &queries.Queries{Models: s.models, SearchLimit: s.config.searchLimit, Start: head}
	s.metrics.Follow(s.queries, s.config.folders())
	return nil
}

func (s *service) openSignIn(ctx context.Context) (err error) {
	if s.accounts, err = openAccounts(ctx, s.config.accounts, s.config.data); err != nil {
		return err
	}
	s.closing(s.accounts.Close)
	s.accounts.Observe = func(ctx context.Context, e signin.Event) {
		s.metrics.SignIn(string(e.Kind))
		s.access.Record(signedIn(e, httpd.Correlation(ctx)))
	}
	if err := s.config.checkAdminPassword(ctx, s.accounts); err != nil {
		return fmt.Errorf("create the user admin: %w", err)
	}
	urls := s.urls.signin()
	issuer, err := signin.NewIssuer(s.accounts, signin.IssuerOptions{URL: urls.Issuer, Audience: urls.Audience, Tools: urls.MCP})
	if err != nil {
		return err
	}
	options := signin.Options{BuiltIn: issuer, Admins: s.config.admins}
	provide := signin.ProviderOptions{Core: urls.Core, Vault: urls.Vault, Tools: urls.MCP, Logger: s.logger, RotateKeys: s.config.rotateKeys, RequireFactor: s.config.requireFactor}
	for _, text := range s.config.issuers {
		trusted, err := parseIssuer(text)
		if err != nil {
			return err
		}
		options.Issuers = append(options.Issuers, trusted)
		provide.Servers = append(provide.Servers, trusted.URL)
	}
	if provide.Proxies, err = parseProxies(s.config.proxies); err != nil {
		return err
	}
	if s.verifier, err = signin.NewVerifier(options); err != nil {
		return err
	}
	s.closing(func() error { s.verifier.Close(); return nil })
	provider, err := signin.NewProvider(issuer, provide)
	if err != nil {
		return err
	}
	s.closing(func() error { provider.Close(); return nil })
	s.address = provider.Address
	s.server = &httpd.Server{SignIn: provider, SignInDocuments: provider.RootDocuments(), Verify: s.verifier.Verify}
	s.server.Reader = func(r *http.Request) (events.User, bool, error) {
		user, found, err := provider.Reader(r)
		if found {
			user.Admin = user.Admin || s.verifier.Admin(user.Principal)
		}
		return user, found, err
	}
	return nil
}

// makeAdmin creates the user admin at the first start. It comes last: the
// password is shown once, by a start that succeeds.
func (s *service) makeAdmin(ctx context.Context) (err error) {
	if s.password, s.adminMade, err = s.accounts.EnsureAdmin(ctx, s.config.askAdminPassword()); err != nil {
		return fmt.Errorf("create the user admin: %w", err)
	}
	return nil
}

func (s *service) openImporter(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program, to start its readers: %w", err)
	}
	rules, err := s.config.sharing.rules()
	if err != nil {
		return err
	}
	cache := filepath.Join(s.config.data, "cache")
	s.reader = extract.New(extract.Options{
		Limits: s.config.extract, Command: []string{program, readerName}, CacheDir: cache,
		Workers: turns.Readers(s.config.workers), Spare: turns.Readers(s.config.workers) - s.config.workers,
	})
	s.closing(s.reader.Close)
	s.inspectReaders(ctx)
	spool := filepath.Join(s.config.data, "spool")
	if err := errors.Join(os.MkdirAll(spool, 0o700), importer.SweepSpool(spool)); err != nil {
		return fmt.Errorf("make the folder of texts that are being read: %w", err)
	}
	s.importer = &importer.Importer{
		Handler:   &commands.Handler{Log: s.log, Duplicates: s.queries, Names: s.queries, Contents: s.queries, Quota: s.quota, Changes: s.changes, Gate: s.filing, Logger: s.logger, Rules: rules},
		Originals: s.originals,
		Reader:    s.reader,
		Summarise: func(title string) importer.Summariser { return summarise.New(title) },
		SpoolDir:  spool,
		Workers:   s.config.workers, FileTimeout: s.config.fileTimeout, Logger: s.logger, Observe: s.metrics.Step,
		Ended: func(o importer.Outcome) { s.metrics.FileEnded(string(o)) }, Died: s.metrics.ReaderDied,
	}
	// More files are out than are read side by side: the rest wait for the disk.
	s.queue = &projections.Queue{
		Work: s.models.Work, Control: s.control, Holder: s.holder,
		Workers: 8 * s.config.workers, Room: s.importer.Room, Logger: s.logger,
	}
	if s.filing != nil { // other nodes may be free for what waits here
		s.importer.GiveBackAfter = giveBackAfter
	}
	return nil
}

// inspectReaders starts a reader and logs what its sandbox is made of here.
func (s *service) inspectReaders(ctx context.Context) {
	report, err := extract.Inspect(ctx, s.reader)
	s.metrics.Readers(err == nil, len(report.Lacks))
	switch {
	case err != nil:
		s.logger.Error("readers of files cannot be started: nothing can be imported", "error", err)
	case len(report.Lacks) > 0:
		s.logger.Warn("readers of files are confined in part", "holds", strings.Join(report.Holds, ", "), "lacks", strings.Join(report.Lacks, ", "))
	default:
		s.logger.Info("readers of files are confined", "holds", strings.Join(report.Holds, ", "))
	}
}

func (s *service) openServer() error {
	s.server.Queries = s.queries
	s.server.Commands = s.importer.Handler
	s.server.Originals = s.originals
	s.server.CoreURL, s.server.VaultURL, s.server.MCPURL, s.server.IssuerURL = s.urls.core, s.urls.vault, s.urls.mcp, s.urls.issuer
	s.server.LinkURL = s.urls.issuer // where a browser's sign-in is
	s.server.Limits = httpd.Limits{FileBytes: s.config.fileBytes, Files: s.config.files, UploadBytes: s.config.uploadBytes}
	brake := new(ratelimit.Brake)
	s.server.Reads, s.server.Brake = s.reads, brake
	s.server.Quotas, s.server.Changes = s.quota.Of, s.changes
	s.server.UserExists = s.userExists
	s.server.Origins = s.config.origins
	s.server.Version = version()
	s.server.Disks = s.config.folders()
	s.server.Stall = s.config.stall
	s.server.Linger = s.config.drainTime()
	s.server.Logger, s.server.AccessLog = s.logger, s.config.accessLog
	s.server.Observe = s.metrics.Request
	s.server.Accessed, s.server.Address = s.access.Record, s.address
	if s.config.metrics == "" {
		s.server.Metrics = s.metrics
	}
	verify := s.verifier.For(s.urls.mcp.String()).Verify
	tools, err := mcp.New(mcp.Options{
		Verify: func(ctx context.Context, token string) (events.User, time.Time, error) {
			user, until, err := verify(ctx, token)
			if err == nil {
				httpd.NoteUser(ctx, user)
			}
			return user, until, err
		},
		Queries: s.queries, Commands: s.importer.Handler, Originals: s.originals,
		URL: s.urls.mcp, LinkURL: s.server.LinkURL, Origins: s.config.origins, Prefix: s.config.mcpPrefix, Scheme: s.config.mcpScheme,
		Accessed: s.access.Record, Address: s.address,
		IngestRoots: s.config.mcpIngestRoots, AllowDelete: s.config.mcpAllowDelete,
		Limits: s.server.Limits, Reads: s.reads, Brake: brake, Version: version(), Logger: s.logger,
	})
	if err != nil {
		return fmt.Errorf("offer tools to agents: %w", err)
	}
	s.server.MCP = tools
	return nil
}

// run starts every part. Read models go on until both the server, whose last
// requests read them, and the importer have ended.
func (s *service) run(ctx context.Context, g *errgroup.Group) {
	models, stop := context.WithCancel(context.WithoutCancel(ctx))
	// One cannot do without the other: a server whose importer ended would take
	// in what nobody reads.
	writers, writing := errgroup.WithContext(ctx)
	writers.Go(func() error { return s.server.Serve(writing, s.listener) })
	writers.Go(func() error { return s.importer.Run(writing, s.queue) })
	g.Go(func() error {
		defer stop()
		return writers.Wait()
	})
	g.Go(func() error { return s.models.Run(models) })
	g.Go(func() error { s.sweep(ctx); return nil })
	if s.metricsAt != nil {
		g.Go(func() error { return aside(ctx, s.metricsAt, s.metricsHandler()) })
	}
	if s.profilesAt != nil {
		g.Go(func() error { return aside(ctx, s.profilesAt, profiles()) })
	}
}

// release gives back at once what other processes would wait for.
func (s *service) release() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return s.control.ReleaseAll(ctx, s.holder)
}

// sweep deletes, now and every few hours, originals that are older than a day
// and that nothing refers to. It waits until the read models know of all that
// was accepted.
func (s *service) sweep(ctx context.Context) {
	const age, every = 24 * time.Hour, 6 * time.Hour
	timer := time.NewTimer(time.Minute)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		timer.Reset(every)
		if err := s.queries.Ready(ctx); err != nil {
			timer.Reset(time.Minute)
			continue
		}
		n := 0
		err := s.control.Alone(ctx, "sweep of originals", func(ctx context.Context) (err error) {
			n, err = originals.Sweep(ctx, s.originals, s.keeping, time.Now().Add(-age), s.queries.Refers)
			return err
		})
		if err != nil && ctx.Err() == nil && !fault.Is(err, fault.Conflict) { // another node is at it
			s.logger.Warn("originals that nothing refers to cannot be deleted", "error", err)
		} else if n > 0 {
			s.logger.Info("deleted originals that nothing refers to", "originals", n)
		}
	}
}

// close closes what was opened, the last first.
func (s *service) close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	return errors.Join(errs...)
}

// userExists reports whether a principal is a user of the built-in sign-in.
// Those of other issuers, whose names have the issuer's before a slash, cannot
// be looked up, and count as users.
func (s *service) userExists(ctx context.Context, who events.Principal) (bool, error) {
	name := who.Name()
	if !who.IsUser() || strings.Contains(name, "/") {
		return true, nil
	}
	account, err := s.accounts.Get(ctx, name)
	if fault.Is(err, fault.NotFound) {
		return false, nil
	}
	return account.Name == name, err
}
