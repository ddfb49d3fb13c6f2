// An HTTP and an HTTPS server that print the host and the path of each request.
import fs from "node:fs";
import http from "node:http";
import https from "node:https";

const [plain, secure, cert, key] = process.argv.slice(2);
const serve = (request, response) => {
	console.log(`${request.headers.host} ${request.url} 200`);
	response.end("hello\n");
};

http.createServer(serve).listen(plain, "127.0.0.1");
https.createServer({ cert: fs.readFileSync(cert), key: fs.readFileSync(key), ecdhCurve: "P-384" }, serve)
	.listen(secure, "127.0.0.1");
