const tell = async () => postMessage(await (await fetch('word.txt')).text());
