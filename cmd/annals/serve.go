package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"annals/cmd/annals/engine"
	"annals/cmd/annals/service"
	"annals/cmd/annals/settings"
	"annals/commands/foldertree"
	"annals/commands/importer/extract/pdf/pdfium"
	"annals/commands/quota"
	"annals/http/signin"

	"github.com/spf13/cobra"
)

const serveName = "serve"

// defaultListen is the default address of a server. Tests change it, or they could
// reach a server that runs on this machine.
var defaultListen = "127.0.0.1:8080"

func serveCommand(at *engine.URLs) *cobra.Command {
	c := &service.Config{Version: version(), Program: programName(), Reader: readerName}
	var level, format string
	command := &cobra.Command{
		Use:   serveName,
		Short: "Run the service",
		Long: "Run the service. The first start creates the data folder and the user admin, and prints what to do next.\n" +
			"An interrupt shuts it down: requests and files being imported finish, and accepted files that wait are imported\n" +
			"after the next start.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.URLs = *at
			if err := c.Check(); err != nil {
				return err
			}
			logger, err := service.NewLogger(level, format, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			for _, warning := range settings.UnknownVariables(cmd.Root(), os.Environ()) {
				logger.Warn(warning)
			}
			return service.Run(cmd.Context(), c, logger, cmd.OutOrStdout())
		},
	}
	flags := command.Flags()
	flags.StringVar(&c.Listen, "listen", defaultListen, "address to listen on")
	flags.StringVar(&c.MetricsListen, "metrics-listen", "", "address to serve /metrics at instead of --listen (default: that of --listen)")
	bindLog(flags, at)
	flags.StringVar(&at.ReadModels, "read-models", "", "URL of the read models, sqlite:///folder or postgres://user:password@host/database?schema=PREFIX (default: in the data folder)")
	flags.StringVar(&at.Search, "search", "", "URL of the search index, "+engine.SearchEngines.Forms()+" (default: in the data folder)")
	flags.StringVar(&at.Originals, "originals", "", "URL of the uploaded files, file:///folder or s3://bucket/prefix (default: in the data folder)")
	flags.StringVar(&c.CoreURL, "core-url", "", "URL at which clients reach the core (default: follows --listen)")
	flags.StringVar(&c.VaultURL, "vault-url", "", "URL at which clients reach the vault (default: follows --listen)")
	flags.StringVar(&c.MCPURL, "mcp-url", "", "URL at which agents reach the MCP endpoint (default: follows --listen)")
	flags.StringVar(&c.MCPPrefix, "mcp-prefix", "service_", "prefix of the names of the tools for agents")
	flags.StringVar(&c.MCPScheme, "mcp-scheme", "service", "URI scheme of the resources for agents")
	flags.StringArrayVar(&c.MCPIngestRoots, "mcp-ingest-root", nil, "folder of this machine from which agents may import files, with all below it (default: none); may be repeated")
	flags.BoolVar(&c.MCPAllowDelete, "mcp-allow-delete", false, "let agents delete documents")
	flags.StringVar(&c.IssuerURL, "issuer-url", "", "URL of the built-in sign-in (default: follows --listen)")
	flags.StringVar(&c.Audience, "audience", signin.DefaultAudience, "audience of the built-in sign-in's tokens")
	flags.StringArrayVar(&c.Issuers, "issuer", nil, "trust an OpenID issuer: url=URL,alias=NAME,audience=A[,user-claim=C][,groups-claim=C][,admin-claim=C][,admin-value=V]; may be repeated")
	flags.StringSliceVar(&c.Admins, "admin", nil, "administrators, who may do everything: user:corp/alice of an --issuer, or alice of the built-in sign-in")
	flags.StringVar(&c.AdminPasswordFile, "admin-password-file", "", "file whose first line is the password of the user admin, read only by the first start; only its owner may have access (default: none; a random password is shown if standard output is a terminal)")
	flags.BoolVar(&c.RequireFactor, "require-second-factor", false, "require a one-time code or a passkey of every user of the built-in sign-in; users without one set it up at their next sign-in")
	flags.DurationVar(&c.RotateKeys, "rotate-keys", 0, "age at which the signing key of the built-in sign-in is replaced, such as 2160h; at least 24h (default: only by annals keys rotate)")
	flags.StringSliceVar(&c.Proxies, "trusted-proxy", nil, "addresses or networks of reverse proxies whose X-Forwarded-For is trusted; the sign-in is throttled by client address")
	flags.StringSliceVar(&c.Origins, "cors-origin", nil, "origins whose web pages may call the service")
	flags.StringVar(&c.Sharing.Shares, "shares", "invite", "when a share with a single user takes effect: invite (once they accept; at once if an administrator shares) or open (at once)")
	flags.StringVar(&c.Sharing.With, "share-with", "anyone", "with whom owners may share folders: anyone, own-groups (single users, and the owner's own groups), or admins (only administrators may share)")
	flags.StringVar(&c.Sharing.TopLevel, "top-level-folders", "everyone", "who may create folders at the top level: everyone, admins, or group:NAME and admins")
	flags.IntVar(&c.Sharing.InvitationsMade, "max-invitations-made", foldertree.DefaultMaxSent, "maximum number of unanswered invitations by one user")
	flags.IntVar(&c.Sharing.InvitationsReceived, "max-invitations-received", foldertree.DefaultMaxReceived, "maximum number of unanswered invitations to one user")
	flags.IntVar(&c.Workers, "workers", runtime.NumCPU(), "maximum number of files imported at the same time")
	flags.IntVar(&c.SearchLimit, "search-limit", 10, "default number of passages that a search returns")
	flags.IntVar(&c.Files, "max-files", 10_000, "maximum number of files in one upload")
	flags.Int64Var(&c.FileBytes, "max-file-bytes", 1<<30, "maximum size of one uploaded file, in bytes")
	flags.Int64Var(&c.UploadBytes, "max-upload-bytes", 64<<30, "maximum size of one upload, in bytes")
	flags.IntVar(&c.Extract.Pages, "max-pages", 5000, "maximum number of pages of a PDF")
	flags.Int64Var(&c.Extract.TextBytes, "max-text-bytes", 1<<30, "maximum size of the text read from one file, in bytes")
	flags.DurationVar(&c.Extract.Time, "extract-time", 10*time.Minute, "maximum time for reading one file, and maximum processor time for it")
	flags.Int64Var(&c.Extract.Memory, "extract-memory", pdfium.DefaultMemory, fmt.Sprintf("maximum memory of one process that reads files, in bytes; at least %d (192 MiB)", pdfium.LeastMemory))
	flags.DurationVar(&c.FileTimeout, "file-timeout", 15*time.Minute, "maximum time for one attempt at importing a file")
	flags.DurationVar(&c.Stall, "stall", time.Minute, "end a progress stream after this time without progress")
	flags.DurationVar(&c.Drain, "drain", service.DefaultDrain, "how long to keep serving with /readyz at 503 after a stop signal, so that load balancers notice (default: 5s if nodes share read models, else 0s)")
	flags.Lookup("drain").DefValue = "0s" // not shown by help
	bindLimits(flags, &c.Quota, &c.Searches)
	c.AccessRetention, c.AccessBytes = 90*24*time.Hour, 1<<30
	flags.Var(settings.Reads("admins", &c.AuditReads), "audit-reads", "which reads the audit trail records: none; admins (reads by administrators of documents that others own, and all downloads); sample:N (also one of N other reads); all")
	flags.Var(settings.Days(&c.AccessRetention), "access-log-retention", "how long sign-ins, refusals and reads are kept, such as 90d or 12h; 0 means forever")
	flags.Var(settings.Limit(quota.Bytes, &c.AccessBytes), "access-log-bytes", "maximum size of the stored sign-ins, refusals and reads; beyond it the oldest are deleted; 0 for no limit")
	flags.BoolVar(&c.AccessLog, "access-log", false, "log a line for each request at level info, with user, route, status, duration and correlation id (default: at level debug)")
	flags.StringVar(&level, "log-level", "info", "debug, info, warn or error")
	flags.StringVar(&format, "log-format", "text", "text or json")
	flags.StringVar(&c.ProfilesListen, "pprof", "", "address at which Go's profiles are served (default: not served)")
	if err := flags.MarkHidden("pprof"); err != nil {
		panic(err) // unreachable: the flag is defined
	}
	return command
}

// programName returns the command that started this program.
func programName() string {
	path, err := os.Executable()
	if err == nil && filepath.Base(filepath.Dir(path)) == "exe" {
		return "go run ./cmd/annals"
	}
	return os.Args[0]
}
