proof.done('trusted');
