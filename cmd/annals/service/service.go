package service

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

	"annals/cmd/annals/engine"
	"annals/cmd/usage"
	"annals/commands"
	"annals/commands/importer"
	"annals/commands/importer/extract"
	"annals/commands/importer/extract/reader"
	"annals/commands/importer/pages"
	"annals/commands/importer/summarise"
	"annals/commands/importer/turns"
	"annals/commands/quota"
	"annals/events"
	"annals/events/fault"
	"annals/events/originals"
	httpd "annals/http"
	"annals/http/admin"
	"annals/http/console/session"
	"annals/http/mcp"
	"annals/http/metrics"
	"annals/http/ratelimit"
	"annals/http/signin"
	"annals/http/signin/accounts"
	"annals/projections"
	"annals/projections/control"
	"annals/projections/embeddings"
	"annals/projections/generation"
	"annals/projections/importqueue"
	"annals/queries"
	"annals/queries/accesslog"
	"annals/queries/answerlog"
	"annals/queries/describe"

	"golang.org/x/sync/errgroup"
)

// service holds all parts of a running server.
type service struct {
	config *Config
	urls   addresses
	logger *slog.Logger

	listener     net.Listener
	metrics      *metrics.Metrics
	metricsAt    net.Listener // nil if metrics are served on listener
	profilesAt   net.Listener // nil if profiles are not served
	quota        *quota.Ledger
	changes      *quota.Changes
	reads        *ratelimit.Limiter
	log          *events.Log
	control      *control.Store
	node         string         // name of this node
	filing       commands.Gate  // filing gate; nil unless nodes share the read models
	committing   originals.Gate // commit gate; nil unless nodes share the read models
	originals    originals.Store
	models       *projections.Set
	queue        *importqueue.Queue
	reader       extract.Reader
	pageCache    *pages.Cache // nil if there is none
	accounts     *accounts.Store
	verifier     *signin.Verifier
	access       *accesslog.Log
	answers      *answerlog.Log             // nil if no language model has written answers
	descriptions *describe.Store            // nil if no language model has described documents
	address      func(*http.Request) string // returns the address of the client
	queries      *queries.Queries
	importer     *importer.Importer
	server       *httpd.Server
	sessions     *session.Manager // nil if there are no web pages

	adminMade bool   // true if this start created the user admin
	password  string // of the user admin, if this start created it
	closers   []func() error
}

// How long a gate stays open for a node that has passed it. The time is longer than the
// guarded operation usually takes. It is short, because deleting a folder, or sweeping
// originals, waits until the gate is closed. All versions of the program must use the
// same values, because nodes of different versions may share a gate.
const (
	FilingGateOpen    = 100 * time.Millisecond // guards appending the event that files a document
	OriginalsGateOpen = 500 * time.Millisecond // guards committing an original
)

// giveBackAfter is how long a claimed file waits for a free reader process of this
// node. Then the node releases the claim, so that another node can import the file.
const giveBackAfter = 5 * time.Second

func openService(ctx context.Context, c *Config, urls addresses, logger *slog.Logger) (_ *service, err error) {
	s := &service{config: c, urls: urls, logger: logger}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	for _, open := range []func(context.Context) error{s.openMetrics, s.openStores, s.openAccess, s.openAnswers, s.openSignIn, s.openQuotas, s.openImporter} {
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

func (s *service) openMetrics(context.Context) error {
	s.metrics = metrics.New(s.config.Version, s.logger)
	return nil
}

// listen binds those addresses of the server that are not bound yet.
func (s *service) listen(ctx context.Context) error {
	for _, l := range []struct {
		to            *net.Listener
		flag, address string
	}{
		{&s.listener, "listen", s.config.Listen},
		{&s.metricsAt, "metrics-listen", s.config.MetricsListen},
		{&s.profilesAt, "pprof", s.config.ProfilesListen},
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

// closeListener closes a listener. It is no error if the HTTP server has already closed
// it.
func closeListener(l net.Listener) error {
	if err := l.Close(); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// openStores opens the log, the originals, and the read models.
func (s *service) openStores(ctx context.Context) error {
	driver, err := engine.OpenLog(ctx, engine.LogFlag, s.config.Log, s.config.Data, engine.MayCreate)
	if err != nil {
		return err
	}
	s.log = events.NewLog(s.metrics.Driver(driver))
	s.closing(s.log.Close)
	stores, err := s.config.Models()
	if err != nil {
		return err
	}
	options, closeControls, err := stores.OpenControl(ctx, s.config.Data, generation.Options{Log: s.log, Logger: s.logger})
	if err != nil && stores.Database() != nil {
		return fmt.Errorf("--read-models: %w", err)
	}
	if err != nil {
		return err
	}
	s.closing(closeControls)
	embedder := s.config.Embedder(&options, func(r embeddings.Request) { s.metrics.Embedded(r.Query, r.Texts, r.Took, r.Err) })
	s.control, s.node = options.Control, stores.NewNode()
	if err := s.control.ReleaseAll(ctx, s.node); err != nil {
		return fmt.Errorf("release the claims of the previous process: %w", err)
	}
	if stores.Database() != nil {
		s.closing(s.release)
		s.filing, s.committing = s.control.Gate("filing", FilingGateOpen), s.control.Gate("originals", OriginalsGateOpen)
	}
	if s.originals, err = s.config.OpenOriginals(ctx, s.committing); err != nil {
		return err
	}
	models, unlock, err := stores.Open(ctx, options)
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
	found := queries.Options{SearchLimit: s.config.SearchLimit, Start: head}
	if embedder != nil {
		found.Embedder = embedder
		s.inspectVectors(ctx)
	}
	s.queries = queries.New(s.models, found)
	s.metrics.Follow(s.queries, s.config.Folders())
	return nil
}

// openAccess opens the access log. The read models must be open, and nothing may have
// been recorded in the access log before.
func (s *service) openAccess(ctx context.Context) (err error) {
	s.access, err = s.config.OpenAccessLog(ctx, accesslog.Options{
		Reads: s.config.AuditReads, Retention: s.config.AccessRetention, Bytes: s.config.AccessBytes,
		Find: s.queries.Find, Granted: s.queries.Granted, Lost: s.metrics.Lost, Logger: s.logger,
	})
	if err != nil {
		return err
	}
	s.closing(s.access.Close)
	s.queries.Accesses = s.access
	return nil
}

// openQuotas prepares the limits of users, and stores the general limits for commands
// to read.
func (s *service) openQuotas(ctx context.Context) error {
	others, err := s.config.Quota.Principals()
	if err != nil {
		return err
	}
	policy := &quota.Policy{User: s.config.Quota.User, Folder: s.config.Quota.Folder, Principals: others, Override: usage.Overrides(s.accounts)}
	if err := usage.Note(ctx, s.control, policy); err != nil {
		return err
	}
	s.quota = &quota.Ledger{Policy: policy, Usage: usage.Reads{Queries: s.queries}, Refuse: s.metrics.Refuse}
	s.changes = &quota.Changes{Limits: policy.Of, Refuse: s.metrics.Refuse}
	s.reads = &ratelimit.Limiter{Limits: policy.Of, AtOnce: s.config.Searches, Refuse: s.metrics.Refuse}
	return nil
}

// openImporter creates the reader processes, the importer, and the queue from which the
// importer gets files.
func (s *service) openImporter(ctx context.Context) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the path of this program to start reader processes: %w", err)
	}
	rules, err := s.config.Sharing.Rules()
	if err != nil {
		return err
	}
	formats, err := extract.ParseFormats(s.config.Formats)
	if err != nil {
		return err
	}
	s.server.Limits.Formats = formats
	cache := filepath.Join(s.config.Data, "cache")
	if s.pageCache, err = pages.OpenCache(filepath.Join(cache, "pages"), s.config.PageCacheBytes); err != nil {
		return err
	}
	recognition, err := s.findOCR(ctx)
	if err != nil {
		return err
	}
	s.server.Unrecognised = recognition.Missing
	// Files with scanned pages have as many slots as other files, and keep a process each.
	files := turns.Readers(s.config.Workers)
	s.reader = reader.New(reader.Options{
		Limits: s.config.Extract, Formats: formats, Command: []string{program, s.config.Reader}, CacheDir: cache,
		Workers: 2 * files, Reserved: 2*files - s.config.Workers, OCR: recognition, Recognised: s.config.Workers,
	})
	s.closing(s.reader.Close)
	s.inspectReaders(ctx)
	s.inspectOCR(ctx)
	spool := filepath.Join(s.config.Data, "spool")
	if err := errors.Join(os.MkdirAll(spool, 0o700), importer.SweepSpool(spool)); err != nil {
		return fmt.Errorf("create the folder for texts of running imports: %w", err)
	}
	s.importer = &importer.Importer{
		Handler:   &commands.Handler{Log: s.log, Duplicates: s.queries, Names: s.queries, Contents: s.queries, Quota: s.quota, Changes: s.changes, Gate: s.filing, Logger: s.logger, Rules: rules},
		Originals: s.originals,
		Reader:    s.reader,
		Summarise: func(title string) importer.Summariser { return summarise.New(title) },
		SpoolDir:  spool,
		Workers:   s.config.Workers, FileTimeout: s.config.FileTimeout, Logger: s.logger, Observe: s.metrics.Step,
		Ended: func(o importer.Outcome) { s.metrics.FileEnded(string(o)) }, Died: s.metrics.ReaderDied,
	}
	// Claim more files than can be read concurrently, because some claimed files wait
	// for the disk.
	s.queue = &importqueue.Queue{
		Work: s.models.Runner("work"), Control: s.control, Holder: s.node,
		Workers: 8 * s.config.Workers, Room: s.importer.Room, Logger: s.logger,
	}
	s.importer.SetAside = s.queue.SetAside
	if s.filing != nil { // only with shared read models can another node take over a file
		s.importer.RequeueAfter = giveBackAfter
	}
	return nil
}

// inspectReaders starts a reader process and logs the measures with which it confines
// itself.
func (s *service) inspectReaders(ctx context.Context) {
	report, err := reader.Inspect(ctx, s.reader)
	s.metrics.Readers(err == nil, len(report.Lacks))
	switch {
	case err != nil:
		s.logger.Error("cannot start reader processes: nothing can be imported", "error", err)
	case len(report.Lacks) > 0:
		s.logger.Warn("reader processes are only partly confined", "holds", strings.Join(report.Holds, ", "), "lacks", strings.Join(report.Lacks, ", "))
	default:
		s.logger.Info("reader processes are confined", "holds", strings.Join(report.Holds, ", "))
	}
}

// openServer sets the fields of the HTTP server and creates the MCP endpoint.
func (s *service) openServer() error {
	s.server.Queries = s.queries
	s.server.Commands = s.importer.Handler
	s.server.Admin = &admin.Service{Models: s.models, Log: s.log, Figures: s.queries.Figures, Stored: s.config.Stored}
	if s.accounts != nil {
		s.server.Admin.Accounts = s.accounts
	}
	s.server.Originals = s.originals
	if viewer, ok := s.reader.(extract.Viewer); ok {
		// Half of the workers, so that pages are shown while files are imported.
		shown := &pages.Pages{Originals: s.originals, Viewer: viewer, Cache: s.pageCache, AtOnce: s.config.Workers / 2, Logger: s.logger}
		s.closing(shown.Close)
		s.server.Pages = shown
	}
	s.server.CoreURL, s.server.VaultURL, s.server.MCPURL, s.server.IssuerURL = s.urls.core, s.urls.vault, s.urls.mcp, s.urls.issuer
	s.server.LinkURL = s.urls.issuer // the built-in sign-in at this URL signs in people who open a link in a browser
	s.server.Limits.FileBytes, s.server.Limits.Files, s.server.Limits.UploadBytes = s.config.FileBytes, s.config.Files, s.config.UploadBytes
	brake := new(ratelimit.Brake)
	s.server.Reads, s.server.Brake = s.reads, brake
	s.server.Quotas, s.server.Changes = s.quota.Of, s.changes
	s.server.UserExists = s.userExists
	s.server.Origins = s.config.Origins
	s.server.Version = s.config.Version
	s.server.Disks = s.config.Folders()
	s.server.Stall = s.config.Stall
	s.server.Linger = s.config.drainTime()
	s.server.Logger, s.server.AccessLog = s.logger, s.config.AccessLog
	s.server.Observe = s.metrics.Request
	s.server.Accessed, s.server.Address = s.access.Record, s.address
	if s.config.MetricsListen == "" {
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
		URL: s.urls.mcp, LinkURL: s.server.LinkURL, Origins: s.config.Origins, Prefix: s.config.MCPPrefix, Scheme: s.config.MCPScheme,
		Accessed: s.access.Record, Address: s.address,
		IngestRoots: s.config.MCPIngestRoots, AllowDelete: s.config.MCPAllowDelete,
		Limits: s.server.Limits, Reads: s.reads, Brake: brake, Version: s.config.Version, Logger: s.logger,
	})
	if err != nil {
		return fmt.Errorf("create the MCP endpoint: %w", err)
	}
	s.server.MCP = tools
	s.openConsole()
	return nil
}

// run starts all parts of the server in g. When ctx ends, the read models stop last,
// because the HTTP server and the importer need them until both have ended.
func (s *service) run(ctx context.Context, g *errgroup.Group) {
	models, stop := context.WithCancel(context.WithoutCancel(ctx))
	// If the HTTP server or the importer ends, the other one has to end too. Otherwise
	// the server would accept files that are never imported.
	writers, writing := errgroup.WithContext(ctx)
	writers.Go(func() error { return s.server.Serve(writing, s.listener) })
	writers.Go(func() error { return s.importer.Run(writing, s.queue) })
	g.Go(func() error {
		defer stop()
		return writers.Wait()
	})
	g.Go(func() error { return s.models.Run(models) })
	g.Go(func() error { s.sweep(ctx); return nil })
	if d := s.queries.Describer; d != nil {
		g.Go(func() error { d.Run(ctx); return nil })
	}
	if s.metricsAt != nil {
		g.Go(func() error { return serveOperators(ctx, s.metricsAt, s.metricsHandler()) })
	}
	if s.profilesAt != nil {
		g.Go(func() error { return serveOperators(ctx, s.profilesAt, profiles()) })
	}
}

// release releases the claims of this node on files. Without it, other nodes could
// import these files only after the claims have expired.
func (s *service) release() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return s.control.ReleaseAll(ctx, s.node)
}

// sweep deletes originals that are older than a day and to which no document refers that exists or
// was deleted within the last day, and what this node has cached of their pages. It runs one minute after the start of the server and then every six hours, each time
// after the read models have caught up.
func (s *service) sweep(ctx context.Context) {
	const age, every = originals.KeptDeleted, 6 * time.Hour
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
			n, err = originals.Sweep(ctx, s.originals, s.committing, time.Now().Add(-age), func(ctx context.Context, sha256 string) (bool, error) {
				return s.queries.Keeps(ctx, sha256, time.Now().Add(-originals.KeptDeleted))
			})
			return err
		})
		if err != nil && ctx.Err() == nil && !fault.Is(err, fault.Conflict) { // Conflict means that another node is sweeping
			s.logger.Warn("cannot delete originals that nothing refers to", "error", err)
		} else if n > 0 {
			s.logger.Info("deleted originals that nothing refers to", "originals", n)
		}
		if err := s.sweepAnswers(ctx); err != nil && ctx.Err() == nil {
			s.logger.Warn("cannot delete old records of answers", "error", err)
		}
		if err := s.pageCache.Sweep(ctx, s.queries.Refers); err != nil && ctx.Err() == nil {
			s.logger.Warn("cannot remove the pages of deleted documents from the cache", "error", err)
		}
	}
}

// close closes all opened parts of the server, those opened last first.
func (s *service) close() error {
	var errs []error
	for i := len(s.closers) - 1; i >= 0; i-- {
		errs = append(errs, s.closers[i]())
	}
	return errors.Join(errs...)
}
