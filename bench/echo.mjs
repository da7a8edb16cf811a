// The upstream that does nothing: JSON-RPC in, JSON-RPC out, no SDK, over stdio or HTTP, in either era.
//
//     node bench/echo.mjs [--era handshake|modern] [--tools N] [--http]
//
// Node's own http is the cheapest server at hand for many requests at a time. With --http the port is printed; every
// path is then the same server, so that many upstreams can be mounted without as many processes.

import { createServer } from "node:http";
import { parseArgs } from "node:util";

const { values: options } = parseArgs({
  options: {
    era: { type: "string", default: "handshake" },
    tools: { type: "string", default: "0" },
    http: { type: "boolean", default: false },
  },
});

const modern = options.era === "modern";
const serverInfo = { name: "echo", version: "1" };
const mark = modern ? { resultType: "complete", _meta: { "io.modelcontextprotocol/serverInfo": serverInfo } } : {};
const cached = modern ? { ...mark, ttlMs: 3_600_000, cacheScope: "private" } : {};

const text = (description) => ({ type: "string", description });
const echo = { name: "echo", description: "Returns its message.", inputSchema: schema({ message: text("anything") }) };
const listed = schema(Object.fromEntries([..."abcde"].map((letter) => [letter, text(`argument ${letter}`)])));
const description = "A tool that is only listed, with a description as long as descriptions tend to be. ".repeat(2);
const tools = [echo];
for (let number = 0; number < Number(options.tools); number += 1) {
  tools.push({ name: `tool_${number}`, description, inputSchema: listed });
}

function schema(properties) {
  return { type: "object", properties };
}

const capabilities = { tools: {} };
const fixed = modern
  ? { "server/discover": { supportedVersions: ["2026-07-28"], capabilities, ...cached } }
  : { initialize: { protocolVersion: "2025-11-25", capabilities, serverInfo }, ping: {} };
fixed["tools/list"] = { tools, ...cached };

// The answer to one message as text; nothing to a notification.
function answer(message) {
  if (message.id === undefined) return null;
  const { id, method, params } = message;
  if (method === "tools/call") {
    const content = [{ type: "text", text: params.arguments?.message ?? "" }];
    return JSON.stringify({ jsonrpc: "2.0", id, result: { content, ...mark } });
  }
  if (method in fixed) return JSON.stringify({ jsonrpc: "2.0", id, result: fixed[method] });
  return JSON.stringify({ jsonrpc: "2.0", id, error: { code: -32601, message: "Method not found" } });
}

function serveStdio() {
  let parts = []; // of a line that is not whole yet
  process.stdin.on("data", (chunk) => {
    let start = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, start)) {
      parts.push(chunk.subarray(start, end));
      const said = answer(JSON.parse(parts.length === 1 ? parts[0] : Buffer.concat(parts)));
      parts = [];
      start = end + 1;
      if (said !== null) process.stdout.write(`${said}\n`);
    }
    if (start < chunk.length) parts.push(chunk.subarray(start));
  });
}

function serveHttp() {
  const server = createServer((request, response) => {
    if (request.method !== "POST") {
      response.writeHead(request.method === "DELETE" ? 200 : 405, { "content-length": 0 }).end();
      return;
    }
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      const said = answer(JSON.parse(parts.length === 1 ? parts[0] : Buffer.concat(parts)));
      const body = said === null ? Buffer.alloc(0) : Buffer.from(said);
      const headers = { "content-type": "application/json", "content-length": body.length };
      response.writeHead(said === null ? 202 : 200, headers).end(body);
    });
  });
  server.keepAliveTimeout = 600_000; // a benchmark must not meet a connection that is just being closed
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
}

if (options.http) serveHttp();
else serveStdio();
