// A client on the TypeScript SDK: the basic script, one JSON object on stdout with what every step gave.
// Usage: node basic.mjs stdio COMMAND ARG…    or    node basic.mjs http URL
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [kind, ...rest] = process.argv.slice(2);
const transport =
  kind === "http"
    ? new StreamableHTTPClientTransport(new URL(rest[0]))
    : new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env, stderr: "ignore" });
const client = new Client({ name: "ts-client", version: "1.0.0" }, { capabilities: { elicitation: {} } });

const asked = [];
client.setRequestHandler(ElicitRequestSchema, async (request) => {
  asked.push(request.params.message);
  return { action: "accept", content: { name: "Ada" } };
});

await client.connect(transport);
const tool = (name, args, options) =>
  client.callTool({ name: `everything.default.${name}`, arguments: args }, undefined, options);
const out = { server: client.getServerVersion().name };
out.tools = (await client.listTools()).tools.map((each) => each.name);
out.echo = (await tool("echo", { message: "héllo" })).content;
const { resources } = await client.listResources();
const read = await client.readResource({ uri: resources[0].uri });
out.read = [read.contents[0].uri === resources[0].uri, read.contents[0].text.length > 100];
const links = (await tool("get-resource-links", { count: 2 })).content.filter((each) => each.type === "resource_link");
out.links = [];
for (const link of links) out.links.push((await client.readResource({ uri: link.uri })).contents[0].uri === link.uri);
const prompt = await client.getPrompt({ name: "everything.default.args-prompt", arguments: { city: "Oslo" } });
out.prompt = prompt.messages[0].content.text;
const completed = await client.complete({
  ref: { type: "ref/prompt", name: "everything.default.completable-prompt" },
  argument: { name: "department", value: "S" },
});
out.completion = completed.completion.values;
out.progress = [];
await tool("trigger-long-running-operation", { duration: 0.3, steps: 3 }, {
  onprogress: (each) => out.progress.push([each.progress, each.total]),
});
out.elicitation = (await tool("trigger-elicitation-request", {})).content.map((each) => each.text).join("\n").includes("Ada");
out.asked = asked.length;
await client.close();
console.log(JSON.stringify(out));
