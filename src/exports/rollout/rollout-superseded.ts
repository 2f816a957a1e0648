/** Another version has become current meanwhile: the target was left unchanged. */
export class RolloutSuperseded extends Error {
  override readonly name = 'RolloutSuperseded';

  constructor(version: string) {
    super(`${version} is no longer the current version: the target was left unchanged`);
  }
}
