"""The main job of a client, with the packages that openapi-python-client makes:
it prints each step that went as described, and ends at the first that did not.
docs/clients.md has the commands that run it, and what the arguments are."""

import json
import sys
from collections.abc import Iterator
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from uuid import UUID

import httpx

from core_client import AuthenticatedClient as Core
from core_client.api.import_ import get_job, ingest
from core_client.api.search import ask, search
from core_client.models import AskRequest, FileMetadata, IngestBody, ProgressEvent, ProgressEventEventType
from core_client.models import SearchRequest, ValidationFault
from core_client.types import File
from vault_client import AuthenticatedClient as Vault
from vault_client.api.documents import delete_document, get_content, get_document, get_markdown, list_documents, revise_document
from vault_client.api.folders import list_folders, share_folder
from vault_client.models import DocumentItem, Fault, Permission, PermissionAccess, Permissions, ShareFolderBody
from vault_client.types import File as Content
from vault_client.types import Response

base, token, file, revision = sys.argv[1:]
core = Core(f"{base}/core", token)
vault = Vault(f"{base}/vault", token, timeout=httpx.Timeout(60))
original, changed = Path(file).read_bytes(), Path(revision).read_bytes()


def step(name: str) -> None:
    print(name, flush=True)


def progress(body: IngestBody) -> Iterator[ProgressEvent]:
    """Uploads, and yields the events of the progress stream: each is a `data:`
    line, and comments begin with a colon. The generated call would wait for the
    whole stream and take it for a job, so that its arguments go to httpx."""
    call = ingest._get_kwargs(body=body, stream=True)
    with core.get_httpx_client().stream(**call, timeout=httpx.Timeout(60)) as reply:
        assert reply.status_code == HTTPStatus.OK, reply.read()
        for line in reply.iter_lines():
            if line.startswith("data:"):
                yield ProgressEvent.from_dict(json.loads(line.removeprefix("data:")))


metadata = [FileMetadata(folder_name="Python", tags=["python"]).to_dict()]
upload = IngestBody(files=[File(BytesIO(original), Path(file).name)], file_metadata=json.dumps(metadata))
events = list(progress(upload))
assert events[-1].event_type == ProgressEventEventType.COMPLETE, events
assert events[-1].successful_files == 1, events
step("progress")

job = get_job.sync(events[0].job_id, client=core)
assert job and job.done and job.results and job.results[0].document_id, job
document = UUID(job.results[0].document_id)
step("job")

found = search.sync(client=core, body=SearchRequest("lighthouse", folder_name="Python", tags=["python"]))
assert found.sources[0].doc_id == str(document) and "lighthouse" in found.sources[0].text, found
step("search")

answer = ask.sync(client=core, body=AskRequest("Who finished the lighthouse at Eddystone?", folder_name="Python"))
assert "Smeaton" in answer.answer and answer.sources[0].doc_id == str(document), answer
step("ask")

folder = next(f for f in list_folders.sync(client=vault) if f.name == "Python")
assert [d.id for d in list_documents.sync(client=vault, folder_id=folder.id)] == [document]
step("list")

assert "finished in 1759 by John Smeaton" in get_markdown.sync(document, client=vault)
step("markdown")

assert get_content.sync(document, client=vault).payload.read() == original
step("download")


def revise(version: int) -> Response:
    return revise_document.sync_detailed(document, client=vault, body=Content(BytesIO(changed)), if_match=f'"{version}"')


revised = revise(1).parsed
assert isinstance(revised, DocumentItem) and revised.version == 2, revised
assert get_content.sync(document, client=vault).payload.read() == changed
step("revise")

stale = revise(1)
assert stale.status_code == HTTPStatus.CONFLICT and isinstance(stale.parsed, Fault), stale
assert stale.parsed.status_code == HTTPStatus.CONFLICT and stale.parsed.message
step("conflict")

invalid = search.sync(client=core, body=SearchRequest("lighthouse", limit=0))
assert isinstance(invalid, ValidationFault) and invalid.detail[0].loc == ["body", "limit"], invalid
step("invalid")

nothing = get_document.sync(UUID("00000000-0000-4000-8000-000000000000"), client=vault)
assert isinstance(nothing, Fault) and nothing.message == "not_found", nothing
step("not found")

share = ShareFolderBody(permissions=[Permission("user:bob", PermissionAccess.READ)])
shared = share_folder.sync(folder.id, client=vault, body=share)
assert isinstance(shared, Permissions), shared
assert [(p.principal, p.access) for p in shared.permissions] == [("user:bob", PermissionAccess.READ)]  # p.pending: until bob accepts
step("share")

assert delete_document.sync_detailed(document, client=vault, if_match='"2"').status_code == HTTPStatus.NO_CONTENT
assert isinstance(get_document.sync(document, client=vault), Fault)
step("delete")
