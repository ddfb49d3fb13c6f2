// Clients in Node.js: client.mjs WHAT HOST.
import { createRequire } from 'node:module';
import dns from 'node:dns/promises';
import http2 from 'node:http2';

// Debian's modules; they find each other by NODE_PATH.
const require = createRequire(import.meta.url);
const modules = '/usr/share/nodejs/';

async function text(answer) {
	if (answer.status !== 200)
		throw new Error(`status ${answer.status}`);
	return answer.text();
}

const what = {
	async fetch(host) {
		for (const scheme of ['http', 'https'])
			console.log(await text(await fetch(`${scheme}://${host}/hello`)));
		const sent = 'x'.repeat(1 << 20);
		const got = await text(await fetch(`https://${host}/echo`, { method: 'POST', body: sent }));
		if (got !== sent)
			throw new Error('not what was sent');
	},

	async undici(host) {
		const { Agent, request } = require(modules + 'undici');
		const dispatcher = new Agent({ pipelining: 4, connections: 2 });
		const urls = Array(20).fill(`http://${host}/hello`).concat(Array(20).fill(`https://${host}/hello`));
		const answers = await Promise.all(urls.map((url) => request(url, { dispatcher })));
		for (const answer of answers) {
			if (answer.statusCode !== 200)
				throw new Error(`status ${answer.statusCode}`);
			await answer.body.text();
		}
		await dispatcher.close();
		console.log('hello by undici');
	},

	async websocket(host) {
		const { WebSocket } = require(modules + 'undici');
		const socket = new WebSocket(`wss://${host}/ws`);
		await new Promise((resolve, reject) => {
			socket.onerror = () => reject(new Error('refused'));
			socket.onopen = () => socket.send('hello by frames');
			socket.onmessage = (event) => {
				console.log(event.data);
				resolve();
			};
		});
		process.exit(0);
	},

	// c-ares, which asks by itself and not through the libc.
	async resolve(host) {
		const addresses = await dns.resolve4(host);
		console.log(`hello by ${addresses[0]}`);
	},

	async http2(host) {
		const session = http2.connect(`https://${host}`);
		const failed = new Promise((_, reject) => session.on('error', reject));
		const one = () => new Promise((resolve, reject) => {
			const stream = session.request({ ':path': '/hello' });
			let got = '';
			stream.setEncoding('utf8');
			stream.on('data', (piece) => { got += piece; });
			stream.on('end', () => resolve(got));
			stream.on('error', reject);
		});
		const answers = await Promise.race([failed, Promise.all(Array.from({ length: 20 }, one))]);
		session.close();
		console.log(answers[0]);
	},
};

what[process.argv[2]](process.argv[3]).catch((e) => {
	console.error(e.cause || e);
	process.exit(1);
});
