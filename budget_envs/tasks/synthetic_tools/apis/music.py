"""A music player: songs, playlists, and what plays how loud."""

from __future__ import annotations

from typing import Final

from budget_envs.tasks.synthetic_sql.draws import Draws
from budget_envs.tasks.synthetic_tools.api import Api, Result, State, action, query
from budget_envs.tasks.synthetic_tools.scene import DeadEnd, Focus, Kind, Request, Scene, call
from budget_envs.tasks.synthetic_tools.schemas import Refusal, flag, integer, text

__all__ = ["MUSIC"]

_PLAYLISTS: Final = (
    "morning", "party", "running", "quiet", "cooking", "driving", "evening", "rainy", "focus",
    "dancing",
)  # fmt: skip
_SONGS: Final = tuple(
    f"{first} {second}"
    for first in ("Amber", "Silver", "Broken", "Distant", "Paper")
    for second in ("Harbor", "Lanterns", "Morning", "Wheels")
)
_MOST_PLAYLISTS: Final = 50

_PLAYLIST: Final = text("Name of a playlist")
_SONG: Final = text("Title of a song")


def _start(draw: Draws, level: int) -> State:
    songs = sorted(draw.sample(_SONGS, 12))
    return {
        "seconds": {song: draw.integer(90, 420) for song in songs},
        "playlists": {
            name: draw.sample(songs, draw.integer(2, 4))
            for name in sorted(draw.sample(_PLAYLISTS, 5))
        },
        "playing": None,
        "shuffle": False,
        "volume": draw.integer(10, 60),
    }


# Tools.


def _show_playlist(state: State, playlist: str) -> Result:
    return {"playlist": playlist, "songs": _found(state, playlist)}


def _song_length(state: State, song: str) -> Result:
    _demand_song(state, song)
    return {"song": song, "seconds": state["seconds"][song]}


def _longest_song(state: State) -> Result:
    seconds = state["seconds"]
    song = max(sorted(seconds), key=lambda title: seconds[title])
    return {"song": song, "seconds": seconds[song]}


def _make_playlist(state: State, playlist: str) -> Result:
    if playlist in state["playlists"]:
        raise Refusal("There is such a playlist already.")
    if len(state["playlists"]) == _MOST_PLAYLISTS:
        raise Refusal("There are too many playlists.")
    state["playlists"][playlist] = []
    return _show_playlist(state, playlist)


def _append_song(state: State, playlist: str, song: str) -> Result:
    songs = _found(state, playlist)
    _demand_song(state, song)
    if song in songs:
        raise Refusal("The playlist has that song already.")
    songs.append(song)
    return _show_playlist(state, playlist)


def _drop_song(state: State, playlist: str, song: str) -> Result:
    songs = _found(state, playlist)
    if song not in songs:
        raise Refusal("The playlist does not have that song.")
    songs.remove(song)
    return _show_playlist(state, playlist)


def _play(state: State, playlist: str, shuffle: bool) -> Result:
    if not _found(state, playlist):
        raise Refusal("The playlist is empty.")
    state["playing"], state["shuffle"] = playlist, shuffle
    return {"playing": playlist, "shuffle": shuffle}


def _set_volume(state: State, percent: int) -> Result:
    state["volume"] = percent
    return {"volume": percent}


def _found(state: State, playlist: str) -> list[str]:
    if playlist not in state["playlists"]:
        raise Refusal("There is no such playlist.")
    found: list[str] = state["playlists"][playlist]
    return found


def _demand_song(state: State, song: str) -> None:
    if song not in state["seconds"]:
        raise Refusal("There is no such song.")


# Requests.


def _ask_playlist(scene: Scene) -> Request:
    playlist = scene.one_of(scene.state["playlists"])
    return Request(
        says=(
            f"Which songs are on the {playlist} playlist?",
            f"Show me the {playlist} playlist.",
            f"What did I put on the {playlist} playlist?",
        ),
        calls=(call("show_playlist", playlist=playlist),),
        withheld="show_playlist",
        focus=_last_song(scene, playlist),
    )


def _last_song(scene: Scene, playlist: str) -> Focus | None:
    songs = scene.state["playlists"][playlist]
    return Focus("last song", (playlist, songs[-1])) if len(songs) > 1 else None


def _ask_length(scene: Scene) -> Request:
    song = scene.one_of(scene.state["seconds"])
    return Request(
        says=(
            f'How long is "{song}"?',
            f'Tell me how many seconds "{song}" lasts.',
            f'Look up the length of "{song}".',
        ),
        calls=(call("song_length", song=song),),
        vague=("How long is that song of mine?", "Look up the length of a song."),
        details=(f'I mean "{song}".', f'It is called "{song}".'),
        withheld="song_length",
        focus=Focus("song", (song,)),
    )


def _ask_longest(scene: Scene) -> Request:
    lengths = sorted(scene.state["seconds"].values())
    if lengths[-1] == lengths[-2]:
        raise DeadEnd
    seconds = scene.state["seconds"]
    song = max(seconds, key=lambda title: seconds[title])
    return Request(
        says=("Which song is the longest?", "Find the longest song that I have."),
        calls=(call("longest_song"),),
        withheld="longest_song",
        focus=Focus("song", (song,)),
    )


def _make(scene: Scene) -> Request:
    name = scene.one_of(name for name in _PLAYLISTS if name not in scene.state["playlists"])
    return Request(
        says=(
            f'Make a new playlist called "{name}".',
            f'I need an empty playlist named "{name}".',
            f'Start a playlist "{name}", without songs for now.',
        ),
        calls=(call("make_playlist", playlist=name),),
        vague=("Make a new playlist.", "I need an empty playlist."),
        details=(f'Call it "{name}".', f'"{name}" is its name.'),
        withheld="make_playlist",
    )


def _append(scene: Scene) -> Request:
    playlist = scene.one_of(scene.state["playlists"])
    song = _song_not_on(scene, playlist)
    return Request(
        says=(
            f'Put "{song}" on the {playlist} playlist.',
            f'Add "{song}" to the {playlist} playlist.',
            f'The {playlist} playlist should end with "{song}".',
        ),
        calls=(call("append_song", playlist=playlist, song=song),),
        vague=(f"Put another song on the {playlist} playlist.", f"Add a song to {playlist}."),
        details=(f'"{song}".', f'Take "{song}".'),
        withheld="append_song",
    )


def _drop(scene: Scene) -> Request:
    playlist = scene.one_of(scene.state["playlists"])
    song = scene.one_of(scene.state["playlists"][playlist])
    return Request(
        says=(
            f'Take "{song}" off the {playlist} playlist.',
            f'Remove "{song}" from the {playlist} playlist.',
            f'I do not want "{song}" on the {playlist} playlist any more.',
        ),
        calls=(call("drop_song", playlist=playlist, song=song),),
        withheld="drop_song",
    )


def _start_playing(scene: Scene) -> Request:
    playlists = scene.state["playlists"]
    playlist = scene.one_of(
        name for name in playlists if playlists[name] and name != scene.state["playing"]
    )
    if scene.draw.chance(0.5):
        says = (f"Play the {playlist} playlist.", f"Put on the {playlist} playlist.")
        calls = (call("play", playlist=playlist),)
    else:
        says = (
            f"Shuffle the {playlist} playlist.",
            f"Play the {playlist} playlist in shuffle mode.",
        )
        calls = (call("play", playlist=playlist, shuffle=True),)
    return Request(says=says, calls=calls, withheld="play")


def _loudness(scene: Scene) -> Request:
    percent = scene.integer(5, 95, other_than=scene.state["volume"])
    return Request(
        says=(
            f"Set the volume to {percent} percent.",
            f"Volume {percent}, please.",
            f"I would like the music at {percent} percent.",
        ),
        calls=(call("set_volume", percent=percent),),
        vague=("Change the volume.", "The volume is not right."),
        details=(f"I want {percent} percent.", f"Make it {percent}."),
        withheld="set_volume",
    )


def _append_it(scene: Scene) -> Request:
    (song,) = scene.focus("song")
    playlists = scene.state["playlists"]
    playlist = scene.one_of(name for name in playlists if song not in playlists[name])
    return Request(
        says=(f"Put it on the {playlist} playlist.", f"Add that song to the {playlist} playlist."),
        calls=(call("append_song", playlist=playlist, song=song),),
        vague=("Put it on a playlist.", "Add that song to one of my playlists."),
        details=(f"The {playlist} one.", f"I mean {playlist}."),
        withheld="append_song",
    )


def _drop_last(scene: Scene) -> Request:
    playlist, song = scene.focus("last song")
    return Request(
        says=("Take the last song off that playlist.", "Remove the last one of them."),
        calls=(call("drop_song", playlist=playlist, song=song),),
        withheld="drop_song",
    )


def _song_not_on(scene: Scene, playlist: str) -> str:
    songs: dict[str, int] = scene.state["seconds"]
    return scene.one_of(song for song in songs if song not in scene.state["playlists"][playlist])


MUSIC: Final = Api(
    "music",
    _start,
    methods=(
        query(_show_playlist, "Show the songs of a playlist.", playlist=_PLAYLIST),
        query(_song_length, "Tell the length of a song.", song=_SONG),
        query(_longest_song, "Tell the longest song of all."),
        action(_make_playlist, "Make an empty playlist.", playlist=_PLAYLIST),
        action(
            _append_song, "Put a song at the end of a playlist.", playlist=_PLAYLIST, song=_SONG
        ),
        action(_drop_song, "Take a song off a playlist.", playlist=_PLAYLIST, song=_SONG),
        action(
            _play, "Play a playlist.",
            playlist=_PLAYLIST, shuffle=flag("In random order", default=False),
        ),
        action(_set_volume, "Set the volume.", percent=integer(0, 100)),
    ),
    kinds=(
        Kind(_ask_playlist),
        Kind(_ask_length),
        Kind(_ask_longest),
        Kind(_make),
        Kind(_append),
        Kind(_drop),
        Kind(_start_playing),
        Kind(_loudness),
        Kind(_append_it, follows="song"),
        Kind(_drop_last, follows="last song"),
    ),
)  # fmt: skip
